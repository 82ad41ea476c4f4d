"""A network of 38, 32, 1 numbers. deadheat.training.export wrote it; it needs the standard library only."""

from base64 import b64decode
from operator import mul
from struct import iter_unpack

WEIGHTS = """
tsBzvjYuhr5QSV4+0NCrPv0cKr3k4Bw+NZMhPkggaL4PKhG9O3EnvuUWmj6tf428jcpoPWou7TwMf2u9bbUHv9y6dz7WkDY+Q4ut
vlcjGb+8ScE9Q9Govferkb6WWo8+14PpvR/oCz6GeHA+o2TnPef5mD6Bdlc+ZR/zPd1WqD5+IF0+h8e8vpfliT5ukTE/3bBuPow0
s76GbNu+ngCmvSC2cr7DzJg9WEahPm+99b1Ermm+yI0Sv++MeD43ttO9CM68PiaKGT8lFlC+81Z1vitRir6FKog+X8Nfvq9BI77L
X5q+D9FyvoBSnb6dPRI+suUbvzyHqD7/bg++F3fBPtfRF773zlY/3moavksJfj4mA6Q+bL4YvwJZmr5Rzi0/atGivXl7pj7YtG4/
9ULbvf0U5b7QJxm/rtV9Pj63sj7noio+g0l0vhbn6DwYCzQ9XisJvkD3HL53opk9f3aivtwLgb7z54c+vr1Hvo+BX71P2/C9laBt
vVReoL7rHw0+h4smvY1jgj5Ptbg+YciiPv0SpTyA6Kw6nKbQPkMIgb5JN+I+XtcwPuEWuD76tuQ9xn8GP/BMXj7x9Js+zZKIPhC0
Bj7FWbQ+F2RNP8qtID5gVOK+ATT0vRo1nb0bDd27EX0MP4g/8Ttre90+4R1bvmVsqr0a5bU8pcMdvn2ePz4L0Tg8irKCPgeCkD6a
PYS+lMwtPyy9w76tRvy+1eSVvTKqW7/25JY+5QTNvBTy8z2adTW+szMUP0/AVr4EUeW++plvP0FxDL/y4ug+c3CCvdflc74kpdw9
BkmnPnCEPz7DiwY9xCUXPbyRKLxjL+O+jrx6Pl2Eoz6bjWe9Os0Wv44clL2cupE9jRm7PvjMtL6Bmhm+B0iWPsrpjD5CewK/BTZV
vmkjyL6vVTm/lx+EP1Ntjb0Bg3O8m6MhPjAZi71q94S9BDBWPuw11L6GE8C+kaVovpXiyD5Rdqg+ffnQPX4etD5iGuA8S2JkPzyO
g743Hh0/n8WDvk5KKL2aXPo9GjUZP4nQIb7NZdK+xmLPPSLohL6QI5e8VMWLPgvhZj46+cE+HLxgvu46tb4931w81lZwPbDfQb89
GYm+DJsYPkKXrD0ZDpi+sM4JPjCfED5V1l4+HLGuu3V8E76k6O29BfmLvDGltT4LwyG9MwSrvEXs/T5pS4i+t5DnPrxvuj4Wwps9
VoylvWWp0z7/yJ4+T3uxPnUQOT9Po0E/a4SUPq5tR7/EYsy+XWk3vlvKIr7D2pi+KakXv0N+hz2ukhy/8R3cvURdCT4rBNK+tWmN
vYL1H7+FoXY+/LNBPvhCKT9Dqk2/8U3PPu3eLr7P2Yy+gT69Prjk175j9Ty/wkrXPAp1XL+ehx+/Z5EvvnB1Hj3oIIu+MhRtP1co
Kz/tm5e+XxbGO0UNjT5ZOrk+qQ+MPkuU6D6Efic/Pq3YvWrzr7/9tsy+F88sPlkDwT1CPWm+PTPDv+wi2T49ubY+mq41vhqWFD9Q
CaI+9NoXPlY6Hb5Se+++gEF9PnvABz9XAXY9PSmJvxMCpz4W+rs+18uGPrIDQz4v/wU/VcWAPiPltD5/TXc+UlyHvkMtyL4uPpS+
pZPMvgu6lr5TCSq/Svfuvvr4jr6xnAG/yVZcPgPoIr5QmaE/y0lzv1zCH79XLjk/F9ggPYVLbr5UUSC+KBIUPmkqtL1TUae+wLOW
PsBYBL+0nhy94b/nvln2ib/97k0/yRNPvWuNvr57j4I+3JXjvWhR9TxrifI7MdvYPe1pg73pwmY9KMNoPqf+7T5s9AQ+W5i8PhgF
Pj5ws2S/6M9pvnFyVz5eHh0/Zg32PGzHAz8R1BY/0xOcPnRgJz8HCTo/1/83PkjK3L0hTQS/EHQhvfzK071Ue6s9zA83Pky2Ir0K
v+299VSGPlPlXT6ob8a9RzHLPLaKs71EB6E+uCAZPPO0Tr5nmh29rjOfPnYqyL3Cqig9AUmsPUaz6T5ovQg+qVGoPsggJT7cES29
idkGv6LxKT8jiRk/0wNmvqUciL5cOCI/PeKlPY/ZFT99T4A+U+kEP3KyAj7hjw8/YSsFP3dDDL4k8uy+W4yWvSixnb2pysY8avkf
PiQ3qD2y/rC9vJCPvrct6T2hkak9NVKKvXGi4D2pX6S9kARZPW+APTs0ngG/tSatvh0xrr1Ed049Qve7vvA0Dr5mglA975zVPVDx
oT24ddg9N15yu/iciz3wj9I+VRPaPQs45z0V/qA+0yXXPWb4mz6IHaU+sPCyPslGHT8t8NY+NWk1Ppd1p72Nm+u+2QQrP6OAOz+R
DjA/xwsdPP+obT0acBU/xwoYP4JhKL4xgJ0+kdHAPOnhUD8WUw8/akK8PTMQA77Vt90+koBKP2Qg9b1UbQg/QY6HPvFeHj/cc8Y+
4puWPrhEzT48Fg0/prwPv/xR5z2LsO0+MLMHP0fsFL7g6d2+h77vvlHpkr7/K7G+/rJ1vgaiO773QJS/0yZvvy6exD7EfoY/0lQ/
vl0jST6yrg+/KTUfvl8Ls754Quo+QuTTvi/Wz75PdY0+A2AuvsFLwL6y5VK/sGc5Ps8N2z3V51A9bl8Uv5JfPT+YpK0+pC28vvsG
YT7RbPW8yXRcvrWH7L5JeHc+NF+UPNSCPb505Q4/c/2yPWJpoz4lq1Y+IPOMPqJEmr71boU+oDAPPoX4Aj9DJSq9NO/nPt5jFr+B
8Mi+MZgTPlM0Qj7AnTW+N/HOvafKtT6YJGQ+q0TsvTlZMD5XFw+7zyK1vfuLOr5BAps+sohuvK+WuT0Crrc9tR2Iv8uGMr4P+Wc9
xi8IvtWdzT0V32k+LCjQPjLrCT7XcCW+IYjaPkq3Bz59wAQ/7EwHPp2yxD4tFAU+2BqYvZZmJ7wDWds9Pde+PaH9jz5VC7c+w+FK
P/nnKr+sArq+Pz9JvaGFO754HrS+AnlYPLPMI77g8IG+QAL5vbsxib5tqwM+7GuAPfHSoj5RrFY+NnQvvUgAIz5XuJS9R2GKvrLm
NL4QWNW+EIytvlk3Jb6HYR++M3MfvtHahr6C/IK+EKmVvAv9+j3tThY/Uu/wPbBcHb4qdU29+jchP0iUJz8dS1o+ebmyPlveVD9V
ojQ/s0gDPyRNpD1Newy/rbKhPnGvHT5Rol49iwYQPMbj3z175p4+kO5KPqMeBr5dKwM+gnkoviy0Sz0Q7tu9uAsLPVvFbb59sHG9
Y+jwvYx6sT3sBQ8+1M7pvYBVUb7GQX4+toXIPdFnOT5Tga68ojCzPh+TKj6sMWs9rOACP5cp9D6QlgI+kagMP0U6dT0jqlQ+uKBw
PkbMAj6fvZY+a5IXPy91bzwk7b++/2YIvm+Yrr6sXnw+qKJjvr7jMr5BrxC/w3avvpTS3D0dD6u+HaPuvbbtM75If4M+CUUzvo8K
IT73f3U+xbimvmzxu71f8qO+cxUEP2ytX71KSbS+MuG9PjoYjT3cRlu9bhkiP928eb5FDAa/7vutvCXwDLzbwI4/oaOtPTsoRj7P
vRg/s9PbvpzGaz7aCpY/tjsQP5n2D77IkCC/5BRhvrvSrbzeaqw+UjPovrV8Gr46jii+EU8nPz8bOb446ka7oeAyOx2D6z40mx4+
oWTrvdKnQL4QtVs/lOJKPvzT+L7+u52+LHFZvswLX77vXZO+n96Cvi60rj7Stam+mtOHvucR2D7AjA8+PDzlPiHCu74X5J+96081
Pw284D65P0++jFjGPa9bez7Vxg4/K8NBP5syornLCSa/NYG+vibhvr6tjh6/0/cPvtF/u76DV66+/cW0vplSCT4/pZW+n3LWvmQ/
+L6q+dW+C9jIvoo0zr4iCzk/oGvvvU607rwOp9w+ZXckv9ryB79IVR6++4LZvqpET712QHK/LwELvpTVtz3MH5q+qbR8Pi4Fij/W
igQ71lTHPHcwZz6jAQw/v2c2P5gjkD8zapc+FCouvkm0i79ruki/G5BLPrJA6z07lUy9WBcEvVsUQD5vpcE+3qxyvnootL5Tce47
3eRvvBXGDj5a8wi9LzGEPt8cW76zxwW+yCewvgPdNr5AAoE+kcwBvrACsD6BGIQ8QHusPq3mhT5b/SS+0U7FPuvMHj7KYdc+fF2I
PkDWpj5c5Is+AMxOPjSrvD5jjim+ScmrPkgNlD0azKM+wsw+PyeThL7Oa7C+sa7svRsj9j1KHQq9B2L9vrlD4j2yC8U+XLzAvtw/
0T4hWW0+QF7dvQwlpz1wBRO/WdUXPcrZxj6Ce56+wcxhv0+Rgr36r2W+QtHfPpa7pj5Xn4Y+6dupPiCdxz7B7Yo/1ddFPoIprj6S
V2E/vxQhPzC12T7x52c/+55UvvFvJ71pete9ByNFPrcN6rxiBd0+teIhP8lXR8Dr522+PG06PmyRJT7SO3I+w/hwPdr8br0pk1s+
0bg3vmON277o2vg9gBndPQz2Gj51x5s+a+4zPVRuyL0WzqC9guzNOssc77zlZeg9kOEPPl3cAr63ubg7sWuRPqoUAr69t7++mhX2
PsfjlD4MWv0+IQsQP4XTNj6tANA9ve9ZPvc5Kb0uHbc+3yQWPnAeVz57zaw9B2OmPgLbRruKlLe+9j7JPWPecj6mDhO+lhxvvt2Y
HD5Q6Ce+A3guvkmaFr8yI0S9akIKPjlYu7ytHsK/jFeiPsp+1jzajHC9/uWovyoo+z2dA9k9I5vBvAEASL0WFoa8GFkdvvNeI78l
GZe+6MAJvpnFTT5YwLG8pHcFP76ziT3Twi6+J00SP0ELBz0psG4+SIsuPxRIMD+j5PM+UjUYP/wLPr+OpNK+2f++PmKglD1qpv89
NmarPeTtSj5SiBk/bqWsvuF+ij3QEIk+oEdnPvZGQr5LZvi9qtewPNX0nb7rJX6/VSI+vxvVBL/wgeQ+S36pvUbgeT3HVP49sU/6
Ph1TC74bPpC9d7sGPqLE27xNzKA+CGM0PiKCsz5F5Q49zLvHPrxSFr49Com9IFBvPkTTkz5ZiU8+4SYzP9M3+L44Ur2+fs0Sv3w1
qj2Piso9mmNHPunv2L17Ffw9xKEHvj7P976Q+IE9VWwxPS+qKD32Q4e+ScfcPb4/h75M/WC+K5SYvn6JVz46Q2g9xX6nvndSTb5B
cyq+1UAkvSFiPL12ks+90ThAPKhs3D78RN4+/xoRvYlVcz772YA+ftHVPgd22T7mDxs/pUuvvczRFT9FNxM/FDejPsNkCb2LSgK/
Cexzvhi6Eb5/v/Y9cLl3PfdxH75z/ru+Ez5jPdgarr7516Q9A4v7vQ5y2rzWpEY+AKS4vb4FjL7SGnS+wXRKPdtMpD6SYIS+pH/7
vaEHDb9oFyK6g0Qyvs59Qj5+VZe+PRSyPg3KrL2ZVQQ/jGccPyH3Bj4vtUg+eSX9PpvXmz4LXqY+zippvlYZED90VOU+ddjwPiIG
db30ygG/OSAvPZ6opL0gCr0+WCg4viQtAb1wd6i+2hNHPs1N+j2xjh0+nH+0uogagz6UXFs+PMa3vkMnZL6dKdQ+Ds5Dv6NiVD4N
LNU+W8WKPnnhTr4ltuY+sDw4Pf2KpD5U0pS9ee3CPr3Ma763R+Y+C3M2PmZE0D5Yy5c+LSFQPbs21j5eB8888KLnvd/pvjpjFcs+
t+IFPyVMLL+Vgbm+ABMgPqo4Qz7xMSw+Ktq+Paa7xj5DHUs+cPS5vSbrHj1RxyE+omGWvfAi/r0FsDs+KPQIPRN/fj0g0dS97FkB
vsO85zxaic8+ZgYLOWKper6hDLk+memsPTtqrT3LdWu+ggzvPefLqT6Rr3c+gzdLPt1UR7zHbH0+bfp1PnhYtz2FIdw9Q31IPt2Y
EjzuZo8+OhATP67Igb5bZ7++qdWCPmbOgT7UR+o9aFrPPvEf7Lwy9lO98kCOvhlSvT2+uya904pivtlLBr5bS6U9AdiLvlnup71u
/JO+qYJtvUXxDL6NUEc+aiU1PPG3Mr5OYws/WNaQPT++AT7R5Wm+WCKLPXT3iT4nSnY/lNKBPg+L7T0D61o+OjOFPvTHMD/zFyw+
45vyPtnphT68oBY/o617P1MysD3I1se+0wJNu3JiX70JdUS+9I8BPnk1oj3i0DU9zSQPPn4c9bsJMJk9YoJsveig5D0WXKE+jsm1
vEcAFj3+9zC9uFNRvrrsGL0hJ48+vXmBPjDAxL4M1ZY+zgYlPsykDjvGnxU9oiVUvofSoD1w6KU+J2bNvHcv+T6rFOI+AVhHP8fD
nD5rBaw+gF8UPo0N2T5GiLU+Gz0ePiAVxj095uG+0Jd6PrC5tT3TIaE+Bi5VvtxnXr7jzUK+9xaxPjN4Gz5OVt08E2f+vpJMPL7N
qDu/+xFPvvLYTj63c8A9Lh/CvjeWVjzodWq9URwXPvoiKD4rrZq+gfqAv+03/76dPty+BVmXPknzLD9f7vI8l5M5P6/2Bz8n7rK+
gma0PiETNz66uQE/YzHpPg3/OT9FlsQ+4bdUP8QmqT7RLNC+NXy0vs+Ei74yXoG+73miPnnmcr2fY9w8LF5RvV6tcr1n2LS+JnKF
Pt3YFr4Pyw4/dU+fvK+ch75II4a+KV3LvU5WLz4UpVS+wjq5vEhkEL8Mzog+77AmvcTaDj6w4ks+5v+5PjNGMb7FLd8+k5CXvp+K
QD91Pmk/aFOWvcenGz+rcsG+DFShvojbBz8XtMk+LuM0PZMkN79R4gG/Ak5oPgbXPj/EaZU+/pgCP5fIAz+ciKw+MIYzP9aGu79u
BQ0/JBTNPqrjUT48kni/qp28PqMCLz62WtU+QHQwPlLkNT86ehw/Vpd4P2dhGj4Fzic/44ImPuzXoD40hl4+sk+ePnZaiD4buSc+
m2siPpWsiD5WCko+o63aPiIB/T4RMU++
"""
# Numbers of 32 bits, the low byte first. For every number that comes out of a layer: a row of weights, then the bias.


def _read():
    numbers = iter_unpack("<f", b64decode(WEIGHTS))
    for ins, outs in ((38, 32), (32, 1)):
        yield [(tuple(next(numbers)[0] for _ in range(ins)), next(numbers)[0]) for _ in range(outs)]


LAYERS = list(_read())


def forward(numbers):
    """Return what comes out when these numbers go in. What is negative between two layers becomes 0 (ReLU)."""
    for rows in LAYERS[:-1]:
        sums = (sum(map(mul, row, numbers), bias) for row, bias in rows)
        numbers = [value if value > 0 else 0.0 for value in sums]
    return [sum(map(mul, row, numbers), bias) for row, bias in LAYERS[-1]]
