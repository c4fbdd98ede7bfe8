package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What stands in the launcher's help is held by its own tests. */
class LauncherWordsTest {

    @Test
    void settings_that_the_launcher_has_an_option_for_are_named_by_it() {
        assertThat(LauncherWords.of("Give the cache warmpath.kv.memory=7MB or more, or cap the context by "
                + "warmpath.model.context-length=896")).isEqualTo(
                        "Give the cache --kv-memory 7MB or more, or cap the context by --context 896");
        assertThat(LauncherWords.of("warmpath.compute.backend is cuda, or compute by warmpath.compute.backend=vector."))
                .isEqualTo("--backend is cuda, or compute by --backend vector.");
        assertThat(LauncherWords.of("Start it with -Xmx2295m or more, or lower -Xmx"))
                .isEqualTo("Start it with --heap 2295MB or more, or lower --heap");
    }

    @Test
    void other_settings_are_named_as_variables_and_paths_stay_as_they_are() {
        assertThat(LauncherWords.of("warmpath.scheduler.max-num-batched-tokens is 63, warmpath.kv.block-count=129"))
                .isEqualTo("WARMPATH_SCHEDULER_MAXNUMBATCHEDTOKENS is 63, WARMPATH_KV_BLOCKCOUNT=129");
        assertThat(LauncherWords.of("/home/me/warmpath.models/warmpath-tiny has no config.json"))
                .isEqualTo("/home/me/warmpath.models/warmpath-tiny has no config.json");
    }
}
