package dev.warmpath.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.ApplicationEventPublisher;

/** A process of its own, which begins anew as soon as it has started. */
class LivesTest {

    /** Counts its lives; the third cannot start. */
    static final class Restless implements ApplicationRunner, DisposableBean {

        private final ApplicationEventPublisher events;
        private final int life = Integer.getInteger("life", 1);

        Restless(ApplicationEventPublisher events) {
            if (life == 3) {
                throw new IllegalStateException("no third life");
            }
            this.events = events;
        }

        @Override
        public void run(ApplicationArguments arguments) throws InterruptedException {
            System.out.println("life " + life + " begins");
            System.setProperty("life", Integer.toString(life + 1));
            // a daemon, as who looks at an engine is; no server keeps this process until it has run
            Thread.ofVirtual().start(() -> events.publishEvent(new BeginAnew(this))).join();
        }

        @Override
        public void destroy() {
            System.out.println("life " + life + " ends");
        }

        public static void main(String[] arguments) {
            ServiceProcess.run(Service.WORKER, Restless.class, arguments);
        }
    }

    @Test
    void each_life_ends_before_the_next_begins_and_one_that_cannot_start_ends_the_process() throws Exception {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                Restless.class.getName(), "--spring.main.web-application-type=none").redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());

        assertThat(process.waitFor()).as(output).isEqualTo(1);
        assertThat(output.lines().filter(line -> line.startsWith("life ")))
                .containsExactly("life 1 begins", "life 1 ends", "life 2 begins", "life 2 ends");
        assertThat(output).contains("this process ends its work and begins anew", "no third life");
    }
}
