package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page of faults against the tests that it names. */
class DocumentedTestsTest {

    /** A class, one of its tests, or one more of the class before. */
    private static final Pattern NAME = Pattern.compile("`(?=[A-Z.])(\\w*Test)?(?:\\.(\\w+_\\w+))?`");

    @Test
    void every_test_that_the_page_of_faults_names_is_there() throws IOException {
        List<String> named = new ArrayList<>();
        List<String> missing = new ArrayList<>();
        String page = Files.readString(Path.of("../docs/reliability.md"));
        String testClass = "";
        for (Matcher name = NAME.matcher(page); name.find();) {
            named.add(name.group());
            testClass = name.group(1) == null ? testClass : name.group(1);
            String method = name.group(2);
            String source = sourceOf(testClass);
            if (source.isEmpty() || method != null && !source.contains(" " + method + "(")) {
                missing.add(name.group());
            }
        }

        assertThat(named).hasSizeGreaterThan(80);
        assertThat(missing).isEmpty();
    }

    private static String sourceOf(String testClass) throws IOException {
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            for (Path tests : modules.map(module -> module.resolve("src/test/java")).filter(Files::isDirectory)
                    .toList()) {
                try (Stream<Path> files = Files.walk(tests)) {
                    Path file = files.filter(each -> each.endsWith(testClass + ".java")).findFirst().orElse(null);
                    if (file != null) {
                        return Files.readString(file);
                    }
                }
            }
        }
        return "";
    }
}
