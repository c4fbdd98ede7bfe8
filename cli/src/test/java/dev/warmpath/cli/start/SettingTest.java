package dev.warmpath.cli.start;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class SettingTest {

    private final KnownSettings known;

    SettingTest() throws IOException {
        known = KnownSettings.of(new Installation(Path.of(".."), Path.of("target/state"), Map.of()));
    }

    @Test
    void a_setting_goes_to_all_who_have_it() {
        assertThat(Setting.of("warmpath.kv.block-size=32", known).services()).containsExactly(Service.WORKER);
        assertThat(Setting.of("warmpath.drain.timeout=5s", known).services())
                .containsExactlyInAnyOrder(Service.ROUTER, Service.WORKER);
        assertThat(Setting.of("router:warmpath.drain.timeout=5s", known))
                .isEqualTo(new Setting(Set.of(Service.ROUTER), "warmpath.drain.timeout", "5s"));
        assertThat(Setting.of("warmpath.fleet.revision-weights.abc=0.5", known).services())
                .containsExactly(Service.ROUTER);
    }

    @Test
    void it_takes_the_place_of_what_up_would_have_given() {
        Setting warmUp = Setting.of("warmpath.compute.warm-up=0s", known);
        List<String> arguments = List.of("--server.port=1", "--warmpath.compute.warm-up=500ms");
        assertThat(Setting.applied(List.of(warmUp), Service.WORKER, arguments))
                .containsExactly("--server.port=1", "--warmpath.compute.warm-up=0s");
        assertThat(Setting.applied(List.of(warmUp), Service.ROUTER, arguments)).isEqualTo(arguments);
    }

    @Test
    void mistakes_are_sentences() {
        assertThatThrownBy(() -> Setting.of("kv.block-size=32", known)).hasMessageStartingWith("--set takes "
                + "NAME=VALUE");
        assertThatThrownBy(() -> Setting.of("warmpath.kv.blocksize=32", known))
                .hasMessage("--set warmpath.kv.blocksize: there is no such setting; docs/settings.md lists them");
        assertThatThrownBy(() -> Setting.of("router:warmpath.kv.block-size=32", known))
                .hasMessage("--set router:warmpath.kv.block-size=32: that is no setting of a router");
        assertThatThrownBy(() -> Setting.of("warmpath.model.directory=/m", known))
                .hasMessage("--set warmpath.model.directory: that is what --model is for");
    }

    @Test
    void a_secret_is_not_taken_as_an_argument_and_where_it_belongs_is_told() {
        assertThatThrownBy(() -> Setting.of("worker:warmpath.engine.api-key=sk-1", known))
                .hasMessage("--set warmpath.engine.api-key: everybody on this machine can read arguments; set "
                        + "WARMPATH_ENGINE_APIKEY in the environment");
        for (String name : List.of("warmpath.redis.password", "warmpath.redis.uri", "warmpath.fleet.token",
                "warmpath.fleet.previous-token", "warmpath.management.token", "warmpath.routerlink.token")) {
            assertThatThrownBy(() -> Setting.of(name + "=secret", known)).hasMessageStartingWith("--set " + name + ": ")
                    .hasMessageNotContaining("secret");
        }
        assertThat(Setting.of("warmpath.scheduler.max-num-batched-tokens=64", known).value()).isEqualTo("64");
    }

    @Test
    void a_variable_that_stands_for_no_setting_is_known_as_such() {
        assertThat(List.of("WARMPATH_KV_BLOCKSIZE", "WARMPATH_KV_BLOCK_SIZE", "WARMPATH_STATE",
                "WARMPATH_ROUTERLINK_URLS_0", "WARMPATH_FLEET_REVISIONWEIGHTS_ABC",
                "WARMPATH_ROUTER_PORT_8080_TCP_ADDR", "WARMPATH_SERVICE_HOST")).noneMatch(known::isUnknown);
        assertThat(List.of("WARMPATH_KV_BLOKSIZE", "WARMPATH_KV", "WARMPATH_STATES")).allMatch(known::isUnknown);
    }

    @Test
    void variables_that_services_pass_over_are_passed_over_here() throws IOException {
        String services = Files.readString(
                Path.of("../service-process/src/main/java/dev/warmpath/process/SettingNames.java"));
        List<String> passed = Pattern.compile("\"(WARMPATH_[A-Z_]+)\"").matcher(services).results()
                .map(found -> found.group(1)).toList();
        assertThat(passed).contains("WARMPATH_STATE").noneMatch(known::isUnknown);
    }
}
