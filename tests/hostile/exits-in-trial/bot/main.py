import sys

sys.exit("no thanks")
