package dev.warmpath.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** A process of its own, as an operator starts it. */
class UnknownSettingsTest {

    /** Prints a line when it has started. */
    static final class Starting {

        public static void main(String[] arguments) {
            ServiceProcess.run(Service.WORKER, Starting.class, arguments);
            System.out.println("has started");
        }
    }

    @Test
    void a_start_with_unknown_settings_ends_with_status_1_and_tells_them_all_but_no_value() throws Exception {
        var builder = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Dwarmpath.scheduler.polcy=hush", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                Starting.class.getName(), "--spring.main.web-application-type=none", "--warmpath.redis.urls=hush",
                "--warmpath.admission.max-wait=2s").redirectErrorStream(true);
        builder.environment().put("WARMPATH_KV_BLOKCOUNT", "hush");
        builder.environment().put("WARMPATH_ADMISSION_MAX_WAIT", "2s");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes());

        assertThat(process.waitFor()).isEqualTo(1);
        assertThat(output).contains(
                "WARMPATH_KV_BLOKCOUNT stands for no setting; the nearest one is WARMPATH_KV_BLOCKCOUNT (warmpath.kv.block-count)",
                "warmpath.redis.urls is no setting; the nearest one is warmpath.redis.uri (commandLineArgs)",
                "warmpath.scheduler.polcy is no setting; the nearest one is warmpath.scheduler.policy (systemProperties)",
                "warmpath.admission.max-wait is a setting of the router, not of the worker (commandLineArgs)",
                "docs/settings.md");
        assertThat(output).doesNotContain("hush", "WARMPATH_ADMISSION", "has started", "\tat ");
    }
}
