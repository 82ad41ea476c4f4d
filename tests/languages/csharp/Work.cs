using System.IO;
using System.Linq;
using System.Numerics;
using System.Threading.Tasks;

static class Work
{
    public static string Do(string line)
    {
        var memory = Enumerable.Range(0, 512).Select(_ => Enumerable.Repeat((byte)1, 1 << 20).ToArray()).ToArray();
        var tasks = Enumerable.Range(0, 8).Select(
            i => Task.Factory.StartNew(() => BigInteger.Pow(3, 1000 + i), TaskCreationOptions.LongRunning));
        var joined = Task.WhenAll(tasks).Result.Count(power => power > 0);
        var path = Path.GetTempFileName();
        File.WriteAllText(path, line);
        return $"{File.ReadAllText(path)} {memory.Length} {joined}";
    }
}
