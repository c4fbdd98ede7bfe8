package dev.warmpath.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** Names that an operator gives, against a list of six settings and against the whole one. */
class SettingNamesTest {

    private final SettingNames worker = new SettingNames(Service.WORKER, List.of("worker warmpath.kv.block-count",
            "worker warmpath.routerlink.urls[*]", "router warmpath.fleet.revision-weights.*", "both warmpath.redis.uri",
            "router warmpath.drain.settle", "both warmpath.drain.timeout"));

    @ParameterizedTest
    @ValueSource(strings = {"warmpath.kv.block-count", "warmpath.kv.blockCount", "warmpath.kv.block_count",
            "warmpath.kv.BLOCKCOUNT", "warmpath.routerlink.urls", "warmpath.routerlink.urls[0]", "warmpath.redis.uri",
            "spring.application.name", "warmpaths.kv", "warmpath"})
    void every_spelling_that_spring_takes_and_what_is_not_ours_pass(String name) {
        assertThat(worker.problemOf(name)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "warmpath.kv.blok-count, warmpath.kv.blok-count is no setting; the nearest one is warmpath.kv.block-count",
        "warmpath.redis.uri[0], warmpath.redis.uri[0] is no setting; the nearest one is warmpath.redis.uri",
        "warmpath.routerlink.url, warmpath.routerlink.url is no setting; the nearest one is warmpath.routerlink.urls",
        "warmpath.kv.block-count.x, warmpath.kv.block-count.x is no setting; the nearest one is warmpath.kv.block-count",
        "warmpath.drain.settle, 'warmpath.drain.settle is a setting of the router, not of the worker'",
        "warmpath.fleet.revision-weights.a1, "
                + "'warmpath.fleet.revision-weights.a1 is a setting of the router, not of the worker'"})
    void what_is_no_setting_of_this_service_is_named_with_the_nearest_that_is(String name, String problem) {
        assertThat(worker.problemOf(name)).isEqualTo(problem);
    }

    @ParameterizedTest
    @ValueSource(strings = {"WARMPATH_KV_BLOCKCOUNT", "WARMPATH_KV_BLOCK_COUNT", "warmpath_kv_blockcount",
            "warmpath.kv.block-count", "WARMPATH_ROUTERLINK_URLS", "WARMPATH_ROUTERLINK_URLS_0",
            "WARMPATH_ROUTERLINK_URLS_12_", "WARMPATH_FLEET_REVISIONWEIGHTS_A1", "WARMPATH_DRAIN_SETTLE",
            "WARMPATH_STATE", "WARMPATH_NVCC", "WARMPATHS", "PATH",
            "WARMPATH_SERVICE_HOST", "WARMPATH_PORT", "WARMPATH_ROUTER_SERVICE_PORT_HTTP", "WARMPATH_REDIS_PORT",
            "WARMPATH_REDIS_PORT_6379_TCP_ADDR", "WARMPATH_ROUTER_PORT_8080_TCP"})
    void variables_of_the_fleet_the_launcher_and_kubernetes_pass(String name) {
        assertThat(worker.problemOfVariable(name)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "WARMPATH_KV_BLOKCOUNT, WARMPATH_KV_BLOCKCOUNT (warmpath.kv.block-count)",
        "WARMPATH_KVBLOCKCOUNT, WARMPATH_KV_BLOCKCOUNT (warmpath.kv.block-count)",
        "WARMPATH_ROUTERLINK_URLS_X, WARMPATH_ROUTERLINK_URLS (warmpath.routerlink.urls)",
        "WARMPATH_REDIS_URL, WARMPATH_REDIS_URI (warmpath.redis.uri)",
        "warmpath.kv.blockcounts, WARMPATH_KV_BLOCKCOUNT (warmpath.kv.block-count)"})
    void a_variable_with_a_slip_is_named_with_the_nearest_one(String name, String nearest) {
        assertThat(worker.problemOfVariable(name)).isEqualTo(name + " stands for no setting; the nearest one is " + nearest);
    }

    @Test
    void a_start_names_all_slips_at_once_and_no_value() {
        var environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new MapPropertySource("arguments",
                Map.of("warmpath.redis.pasword", "hush", "warmpath.kv.block-count", "8")));
        environment.getPropertySources().addFirst(new SystemEnvironmentPropertySource("variables",
                Map.of("WARMPATH_KV_BLOKCOUNT", "hush", "WARMPATH_KV_BLOCKCOUNT", "8")));

        assertThatThrownBy(() -> UnknownSettingsException.check(environment, worker)).hasMessage("""
                WARMPATH_KV_BLOKCOUNT stands for no setting; the nearest one is WARMPATH_KV_BLOCKCOUNT \
                (warmpath.kv.block-count) (variables)
                warmpath.redis.pasword is no setting; the nearest one is warmpath.redis.uri (arguments)""");
    }

    @Test
    void names_of_any_length_and_number_are_told_in_few_lines() {
        var environment = new StandardEnvironment();
        var source = new HashMap<String, Object>();
        for (int i = 0; i < 5_000; i++) {
            source.put("WARMPATH_" + i, "");
        }
        source.put("WARMPATH_" + "X".repeat(1_000_000) + "\n", "");
        environment.getPropertySources().addFirst(new SystemEnvironmentPropertySource("variables", source));

        assertThatThrownBy(() -> UnknownSettingsException.check(environment, SettingNames.of(Service.ROUTER)))
                .message().hasLineCount(11).endsWith("and 4991 more").hasSizeLessThan(4_000);
    }

    @Test
    void settings_of_the_list_pass_in_both_forms_of_their_variables_and_look_like_no_service_link() throws IOException {
        List<String> lines = new String(SettingNames.class.getResourceAsStream("settings.txt").readAllBytes()).lines()
                .toList();
        SettingNames router = SettingNames.of(Service.ROUTER);

        assertThat(lines).hasSizeGreaterThan(80);
        assertThat(lines).allSatisfy(line -> {
            String name = line.split(" ")[1].replace("[*]", "").replace(".*", "");
            String variable = name.toUpperCase().replace('.', '_');
            assertThat(router.problemOfVariable(variable.replace("-", ""))).isNull();
            assertThat(router.problemOfVariable(variable.replace('-', '_'))).isNull();
            assertThat(variable).doesNotMatch(".*_(SERVICE_HOST|SERVICE_PORT|PORT)(_.*)?");
        });
        assertThatCode(() -> UnknownSettingsException.check(new StandardEnvironment(), router)).doesNotThrowAnyException();
    }

    @Test
    void variables_that_scripts_of_this_project_use_pass() throws IOException {
        Set<String> used = new TreeSet<>();
        try (Stream<Path> scripts = Stream.of(Stream.of(Path.of("../warmpath")), Files.walk(Path.of("../cli/src/main")),
                Files.walk(Path.of("../worker-agent/src")).filter(path -> path.toString().endsWith(".sh")))
                .flatMap(files -> files).filter(Files::isRegularFile)) {
            for (Path script : (Iterable<Path>) scripts::iterator) {
                Pattern.compile("\\$\\{?(WARMPATH_[A-Z_]+)|\\b(WARMPATH_[A-Z_]*[A-Z])\\b").matcher(Files.readString(script))
                        .results().forEach(found -> used.add(found.group(1) != null ? found.group(1) : found.group(2)));
            }
        }
        SettingNames router = SettingNames.of(Service.ROUTER);

        assertThat(used).contains("WARMPATH_STATE", "WARMPATH_NVCC", "WARMPATH_DRAIN_SETTLE");
        assertThat(used).allSatisfy(name -> assertThat(router.problemOfVariable(name)).isNull());
    }
}
