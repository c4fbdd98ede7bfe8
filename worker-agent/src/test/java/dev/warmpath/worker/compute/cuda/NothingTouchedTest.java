package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class NothingTouchedTest {

    /** In a process of its own: the libraries of other tests stay loaded in this one. */
    @Test
    void classes_load_and_initialise_without_a_library_of_cuda() throws Exception {
        var command = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), LoadsEveryClass.class.getName());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());

        assertThat(process.waitFor()).as(output).isZero();
        assertThat(output).contains("CudaDriver initialised", "GemmPlans initialised").doesNotContain("libcuda");
    }

    static final class LoadsEveryClass {

        public static void main(String[] args) throws IOException, ReflectiveOperationException, URISyntaxException {
            Path folder = Path.of(CudaDevice.class.getResource("CudaDevice.class").toURI()).getParent();
            for (String name : classes(folder)) {
                Class.forName(CudaDevice.class.getPackageName() + "." + name);
                System.out.println(name + " initialised");
            }
            Files.lines(Path.of("/proc/self/maps")).filter(line -> line.contains("libcu")).forEach(System.out::println);
        }

        private static List<String> classes(Path folder) throws IOException {
            List<String> names = new ArrayList<>();
            try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*.class")) {
                for (Path file : files) {
                    String name = file.getFileName().toString().replace(".class", "");
                    if (!name.equals("package-info")) {
                        names.add(name);
                    }
                }
            }
            return names;
        }
    }
}
