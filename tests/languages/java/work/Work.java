package work;

import java.nio.file.Files;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

public class Work {
    public static String work(String line) throws Exception {
        byte[][] memory = new byte[512][1 << 20];
        Arrays.stream(memory).parallel().forEach(part -> Arrays.fill(part, (byte) 1));
        var joined = new AtomicInteger();
        var threads = Executors.newFixedThreadPool(8);
        for (int i = 0; i < 8; i++) {
            threads.submit(() -> joined.addAndGet(IntStream.range(0, 100_000).sum() != 0 ? 1 : 0));
        }
        threads.shutdown();
        threads.awaitTermination(9, TimeUnit.SECONDS);
        var file = Files.createTempFile("line", "");
        Files.writeString(file, line);
        return Files.readString(file) + ' ' + memory.length + ' ' + joined;
    }
}
