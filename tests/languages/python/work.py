import tempfile
import threading


def work(line):
    memory = [bytes([part % 256]) * 2**20 for part in range(512)]
    sums = []
    threads = [threading.Thread(target=lambda: sums.append(sum(range(10**5)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with tempfile.TemporaryFile("w+") as file:
        file.write(line)
        file.seek(0)
        return f"{file.read()} {len(memory)} {len(sums)}"
