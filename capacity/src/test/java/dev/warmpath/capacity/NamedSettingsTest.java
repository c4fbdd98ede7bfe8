package dev.warmpath.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.capacity.LowHitRate.Facts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Advice names settings that there are. */
class NamedSettingsTest {

    private static final Pattern SETTING = Pattern.compile("warmpath\\.[a-z.-]+[a-z]");

    @Test
    void the_page_of_planning_has_each_symptom_as_it_is_here() throws IOException {
        String page = Files.readString(Path.of("../docs/planning.md"));

        assertThat(Symptom.values()).allSatisfy(each -> assertThat(page)
                .contains("| %s | %s | %s | %s |".formatted(each.text(), each.look(), each.setting(), each.vllm())));
    }

    @Test
    void each_setting_of_an_advice_is_on_the_page_of_settings() throws IOException {
        String page = Files.readString(Path.of("../docs/settings.md"));
        List<String> named = Stream.of(Arrays.stream(Symptom.values()).map(each -> each.look() + " " + each.setting()),
                Arrays.stream(WorkingPoint.values()).map(WorkingPoint::advice),
                LowHitRate.causes(Facts.of(16).withPrefixCaching(false).withRates(0.01, 0.02).withPrompts(17, 10)
                        .withCache(10, 100, 50)).stream(),
                LowHitRate.causes(Facts.of(16).withRates(0.1, 0.9)).stream()).flatMap(advice -> advice)
                .flatMap(advice -> SETTING.matcher(advice).results().map(MatchResult::group)).distinct().toList();

        assertThat(named).hasSizeGreaterThan(4).allSatisfy(name -> assertThat(page).contains("| `" + name + "` |"));
    }
}
