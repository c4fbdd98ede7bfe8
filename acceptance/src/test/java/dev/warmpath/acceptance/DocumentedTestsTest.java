package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page of faults against the tests that it names. */
class DocumentedTestsTest {

    /** A class, one of its tests, or one more of the class before. */
    private static final Pattern NAME = Pattern.compile("`(?=[A-Z.])(\\w*Test)?(?:\\.(\\w+_\\w+))?`");

    /** What JUnit or ArchUnit runs; text blocks and comments may stand between mark and name. */
    private static final Pattern MARK = Pattern.compile(" {4,8}@(Test|ParameterizedTest|ArchTest)\\b.*");
    private static final Pattern DECLARATION =
            Pattern.compile(" {4,8}(?:static (?:final )?)?(?:void|ArchRule) (\\w+)\\b.*");

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
            List<String> source = sourceOf(testClass);
            if (source.isEmpty() || method != null && !tests(source).contains(method)) {
                missing.add(name.group());
            }
        }

        assertThat(named).hasSizeGreaterThan(80);
        assertThat(missing).isEmpty();
    }

    private static Set<String> tests(List<String> source) {
        Set<String> tests = new HashSet<>();
        boolean marked = false;
        for (String line : source) {
            Matcher declaration = DECLARATION.matcher(line);
            if (MARK.matcher(line).matches()) {
                marked = true;
            } else if (declaration.matches()) {
                if (marked) {
                    tests.add(declaration.group(1));
                }
                marked = false;
            }
        }
        return tests;
    }

    /** Of all modules: several have a class of one name. */
    private static List<String> sourceOf(String testClass) throws IOException {
        List<String> lines = new ArrayList<>();
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            for (Path tests : modules.map(module -> module.resolve("src/test/java")).filter(Files::isDirectory)
                    .toList()) {
                try (Stream<Path> files = Files.walk(tests)) {
                    for (Path file : files.filter(each -> each.endsWith(testClass + ".java")).toList()) {
                        lines.addAll(Files.readAllLines(file));
                    }
                }
            }
        }
        return lines;
    }
}
