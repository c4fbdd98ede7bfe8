package dev.warmpath.process;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.AppenderBase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

class QueuedLogTest {

    private static final int ORDERLY = 143;                        // SIGTERM's
    private static final int FAILED = 1;

    @TempDir
    Path folder;

    /** Takes nothing before it is let go, as a pipe that nobody reads. */
    private static final class Stuck extends AppenderBase<ILoggingEvent> {

        private final CountDownLatch hasOne = new CountDownLatch(1);
        private final CountDownLatch letGo = new CountDownLatch(1);
        private final List<String> written = new CopyOnWriteArrayList<>();

        @Override
        protected void append(ILoggingEvent event) {
            hasOne.countDown();
            while (letGo.getCount() > 0) {                         // the queue's end interrupts whoever writes
                LockSupport.parkNanos(1_000_000);
            }
            written.add(event.getFormattedMessage());
        }
    }

    /** One is in the hands of the queue's thread, and the queue is full: 4,097 lines. */
    @Test
    void who_logs_twenty_thousand_lines_into_a_stuck_log_waits_for_nothing_and_is_told_what_is_missing() throws Exception {
        LoggerContext context = context();
        Logger logger = context.getLogger(Logger.ROOT_LOGGER_NAME);
        var stuck = new Stuck();
        stuck.setContext(context);
        stuck.start();
        logger.addAppender(stuck);
        QueuedLog.queue(logger);
        long before = QueuedLog.discarded();

        logger.info("line 0");
        stuck.hasOne.await();
        IntStream.range(1, 20_000).forEach(i -> logger.info("line {}", i));
        assertThat(QueuedLog.discarded() - before).isEqualTo(20_000 - 4_097);

        stuck.letGo.countDown();
        while (stuck.written.size() < 4_097) {
            Thread.sleep(1);
        }
        logger.info("the next one");
        context.stop();                                            // writes what is queued
        assertThat(stuck.written).hasSize(4_099).startsWith("line 0", "line 1").endsWith(
                "line 4096", "15903 lines are missing here: the log was too slow", "the next one");
        assertThat(logger.iteratorForAppenders()).isExhausted();
    }

    @Test
    void every_line_of_sixteen_threads_is_written_or_counted() throws Exception {
        LoggerContext context = context();
        Logger logger = context.getLogger(Logger.ROOT_LOGGER_NAME);
        var slow = new Stuck();
        slow.setContext(context);
        slow.start();
        logger.addAppender(slow);
        QueuedLog.queue(logger);
        long before = QueuedLog.discarded();

        List<Thread> threads = IntStream.range(0, 16).mapToObj(i -> Thread.ofPlatform().start(() -> {
            for (int line = 0; line < 1_000; line++) {
                logger.info("{} of {}", line, i);
                if (i == 0 && line == 900) {
                    slow.letGo.countDown();                        // the others find the queue full, and then room
                }
            }
        })).toList();
        for (Thread thread : threads) {
            thread.join();
        }
        long missing = QueuedLog.discarded() - before;
        while (slow.written.stream().filter(line -> line.contains(" of ")).count() < 16_000 - missing) {
            Thread.sleep(10);
        }
        context.stop();
        assertThat(slow.written.stream().filter(line -> line.contains(" of "))).hasSize((int) (16_000 - missing));
    }

    @Test
    void a_queue_is_not_put_before_a_queue() {
        LoggerContext context = context();
        Logger logger = context.getLogger(Logger.ROOT_LOGGER_NAME);
        var stuck = new Stuck();
        stuck.setContext(context);
        stuck.setName("console");
        logger.addAppender(stuck);
        QueuedLog.queue(logger);
        QueuedLog.queue(logger);

        assertThat(logger.iteratorForAppenders()).toIterable().singleElement()
                .satisfies(queue -> assertThat(queue.getName()).isEqualTo("queued-console"));
        context.stop();
    }

    /** Says more than a pipe holds and a queue takes, then leaves a file. */
    static final class Talkative {

        public static void main(String[] arguments) throws IOException {
            ServiceProcess.run(Service.ROUTER, Talkative.class, arguments);
            for (int i = 0; i < 8 * QueuedLog.MAX_QUEUED; i++) {
                LoggerFactory.getLogger(Talkative.class).info("line {} of many that nobody reads", i);
            }
            if (QueuedLog.discarded() == 0) {
                throw new AssertionError("all lines found room");
            }
            Files.createFile(Path.of(System.getProperty("said.all")));
        }
    }

    @Test
    void a_process_whose_output_nobody_reads_goes_on_and_ends_when_it_is_told_to() throws Exception {
        Process process = start(Talkative.class);
        while (process.isAlive() && !Files.exists(saidAll())) {
            Thread.sleep(10);
        }
        assertThat(saidAll()).exists();
        process.destroy();
        assertThat(status(process)).isEqualTo(ORDERLY);
    }

    /** An {@code Error} that nobody catches is the last thing that this process says. */
    static final class Breaking {

        public static void main(String[] arguments) {
            ServiceProcess.run(Service.ROUTER, Breaking.class, arguments);
            for (int i = 0; i < 100; i++) {
                LoggerFactory.getLogger(Breaking.class).info("line {}", i);
            }
            throw new AssertionError("this is the end");
        }
    }

    @Test
    void the_last_words_of_a_process_that_ends_itself_are_written() throws Exception {
        Process process = start(Breaking.class);
        String output = new String(process.getInputStream().readAllBytes());

        assertThat(status(process)).isEqualTo(FAILED);
        assertThat(output).contains("line 99", "the process ends", "this is the end");
    }

    private static LoggerContext context() {
        var context = new LoggerContext();
        context.setMDCAdapter(new LogbackMDCAdapter());            // as SLF4J does it with the one of a process
        return context;
    }

    private Path saidAll() {
        return folder.resolve("said-all");
    }

    private Process start(Class<?> main) throws IOException {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Dsaid.all=" + saidAll(), "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), main.getName(),
                "--spring.main.web-application-type=none", "--spring.main.keep-alive=true")
                .redirectErrorStream(true).start();
    }

    private static int status(Process process) throws InterruptedException {
        try {
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).as("ended by itself").isTrue();
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }
}
