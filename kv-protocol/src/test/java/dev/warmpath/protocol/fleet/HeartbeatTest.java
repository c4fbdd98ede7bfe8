package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

class HeartbeatTest {

    private static final RouterId A = new RouterId("a");
    private static final RouterId B = new RouterId("b");
    private static final String OLDER = """
            {"workerId":"w","epoch":7,"running":2,"waiting":1,"freeBlocks":900,"pendingPromptTokens":50,\
            "lastSequence":3,"setSize":4,"setDigest":5}""";
    private final JsonMapper json = JsonMapper.builder().build();

    @Test
    void a_heartbeat_has_exactly_this_json() {
        Heartbeat told = telling(2, new RouterLoad(A, 2, 1, 30), new RouterLoad(B, 1, 1, 20));

        String text = """
                {"workerId":"w","epoch":7,"running":2,"waiting":1,"freeBlocks":900,"pendingPromptTokens":50,\
                "lastSequence":3,"setSize":4,"setDigest":5,"draining":false,"stepAgeMillis":0,"hanging":false,\
                "pendingRequests":2,"routers":[\
                {"router":"a","requests":2,"pendingRequests":1,"pendingPromptTokens":30},\
                {"router":"b","requests":1,"pendingRequests":1,"pendingPromptTokens":20}],\
                "contextTokens":700,"stepCost":{"stepMicros":400.0,"promptTokenMicros":70.0,"rowMicros":90.0,\
                "contextTokenNanos":12.5},"held":true}""";
        assertThat(json.writeValueAsString(told)).isEqualTo(text);
        assertThat(json.readValue(text, Heartbeat.class)).isEqualTo(told);
        assertThat(told.of(B)).isEqualTo(new RouterLoad(B, 1, 1, 20));
        assertThat(told.of(new RouterId("c"))).isNull();
    }

    @Test
    void an_older_sender_tells_no_routers_apart() {
        Heartbeat older = json.readValue(OLDER, Heartbeat.class);

        assertThat(older).isEqualTo(new Heartbeat("w", 7, 2, 1, 900, 50, 3, 4, 5));
        assertThat(older.routers()).isNull();
        assertThat(older.of(A)).isNull();
        assertThat(older.contextTokens()).isZero();
        assertThat(older.stepCost()).isNull();
        assertThat(older.held()).isFalse();
        assertThat(json.writeValueAsString(older)).doesNotContain("routers");
    }

    @Test
    void parts_that_are_more_than_the_whole_are_refused_with_both() {
        assertThatThrownBy(() -> telling(2, new RouterLoad(A, 2, 1, 20), new RouterLoad(B, 2, 1, 20)))
                .hasMessage("sum of routers' requests 4 is above 3");
        assertThatThrownBy(() -> telling(1, new RouterLoad(A, 2, 1, 20), new RouterLoad(B, 1, 1, 20)))
                .hasMessage("sum of routers' pendingRequests 2 is above 1");
        assertThatThrownBy(() -> telling(2, new RouterLoad(A, 1, 1, Long.MAX_VALUE), new RouterLoad(B, 1, 1, 1)))
                .hasMessage("sum of routers' pendingPromptTokens " + Long.MAX_VALUE + " is above 50");
        assertThatThrownBy(() -> telling(4)).hasMessage("pendingRequests 4 is above 3");
        assertThatThrownBy(() -> telling(2, new RouterLoad(A, 1, 0, 0), new RouterLoad(A, 1, 0, 0)))
                .hasMessage("a router is named twice");
        assertThatThrownBy(() -> new Heartbeat("w", 7, 65, 0, 900, 0, 0, 0, 0, false, 0, false, 0,
                IntStream.range(0, 65).mapToObj(i -> new RouterLoad(new RouterId("r" + i), 1, 0, 0)).toList()))
                .hasMessage("number of routers 65 is above 64");
    }

    @Test
    void counts_below_zero_and_names_that_are_none_are_refused() {
        assertThatThrownBy(() -> new Heartbeat("w", 7, -1, 1, 900, 50, 3, 4, 5)).hasMessage("running -1 is negative");
        assertThatThrownBy(() -> new Heartbeat("w", 7, 1, 1, -900, 50, 3, 4, 5))
                .hasMessage("freeBlocks -900 is negative");
        assertThatThrownBy(() -> new RouterLoad(A, 0, 0, 0))
                .hasMessage("router a cannot have 0 requests, 0 of them pending with 0 tokens");
        assertThatThrownBy(() -> new RouterLoad(A, 1, 2, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new RouterLoad(A, 1, 1, -1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new RouterLoad(null, 1, 0, 0)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a router's part does not say which router's");
        assertThatThrownBy(() -> new RouterId(null)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a router's id is missing");
        for (String name : new String[] {"", "a/b", "ä", "a".repeat(65)}) {
            assertThatThrownBy(() -> new RouterId(name)).as(name)
                    .hasMessage("a router's id has " + name.length()
                            + " characters; 1 to 64 letters and digits are allowed");
        }
    }

    @Test
    void what_cannot_be_is_not_readable_either() {
        assertNotReadable("[{\"router\":null,\"requests\":1,\"pendingRequests\":0,\"pendingPromptTokens\":0}]",
                "a router's part does not say which router's");
        assertNotReadable("[{\"requests\":1,\"pendingRequests\":0,\"pendingPromptTokens\":0}]",
                "a router's part does not say which router's");
        assertNotReadable("[{\"router\":\"a\",\"requests\":9,\"pendingRequests\":0,\"pendingPromptTokens\":0}]",
                "sum of routers' requests 9 is above 3");
        assertNotReadable("[{\"router\":\"a b\",\"requests\":1,\"pendingRequests\":0,\"pendingPromptTokens\":0}]",
                "a router's id has 3 characters; 1 to 64 letters and digits are allowed");
        assertNotReadable("[{\"router\":\"a\",\"pendingRequests\":0,\"pendingPromptTokens\":0}]", "requests");
        assertNotReadable("[null]", "Heartbeat");
        assertNotReadable("7", "java.util.ArrayList");
    }

    /** All else in it is right. */
    private void assertNotReadable(String routers, String why) {
        String text = OLDER.replace("}", ",\"routers\":" + routers + "}");
        assertThatThrownBy(() -> json.readValue(text, Heartbeat.class)).as(routers)
                .isInstanceOf(JacksonException.class).hasMessageContaining(why);
    }

    private static Heartbeat telling(int pendingRequests, RouterLoad... routers) {
        return new Heartbeat("w", 7, 2, 1, 900, 50, 3, 4, 5, false, 0, false, pendingRequests, List.of(routers), 700,
                new StepCost(400, 70, 90, 12.5), /* held */ true);
    }
}
