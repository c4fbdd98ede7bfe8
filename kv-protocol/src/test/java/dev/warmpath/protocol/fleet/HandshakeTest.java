package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class HandshakeTest {

    private static final FleetToken HUSH = FleetToken.of("hush");
    private static final String R = "11".repeat(16);
    private static final String W = "22".repeat(16);
    private final Handshake said = new Handshake(R, W, "w", 7);

    /** The values are those of {@code printf 'handshake\nworker\n…\n7\nw' | openssl dgst -sha256 -hmac hush}. */
    @Test
    void each_side_has_a_proof_of_its_own() {
        assertThat(said.workerProof(HUSH))
                .isEqualTo("7d31b49f995794d1671c9f703a0c9cf78891e6564369a94096032e080e3a9e01");
        assertThat(said.routerProof(HUSH))
                .isEqualTo("8fa1714fdbf8ad94f1a2b1dee6f2266ec0db7ffdaade38558f116d4253dd936d");
        assertThat(said.isProvedByWorker(HUSH, said.workerProof(HUSH))).isTrue();
        assertThat(said.isProvedByRouter(HUSH, said.routerProof(HUSH))).isTrue();
        assertThat(said.isProvedByWorker(HUSH, said.routerProof(HUSH))).isFalse();
        assertThat(said.isProvedByRouter(HUSH, said.workerProof(HUSH))).isFalse();
    }

    @Test
    void a_proof_holds_for_these_nonces_this_worker_this_life_and_this_token_only() {
        String proof = said.workerProof(HUSH);

        for (Handshake other : List.of(new Handshake(W, W, "w", 7), new Handshake(R, R, "w", 7),
                new Handshake(R, W, "v", 7), new Handshake(R, W, "w", 8))) {
            assertThat(other.isProvedByWorker(HUSH, proof)).as(other.toString()).isFalse();
        }
        assertThat(said.isProvedByWorker(FleetToken.of("hus"), proof)).isFalse();
        assertThat(said.isProvedByWorker(HUSH, null)).isFalse();
        assertThat(said.isProvedByWorker(HUSH, "none")).isFalse();
    }

    /** Whatever the order in which processes get it. */
    @Test
    void processes_that_know_the_old_token_both_or_the_new_one_understand_those_beside_them() {
        FleetToken before = FleetToken.of("old");
        FleetToken meanwhile = FleetToken.of("new", "old");
        FleetToken after = FleetToken.of("new");
        byte[] body = "{}".getBytes(StandardCharsets.UTF_8);

        for (List<FleetToken> two : List.of(List.of(before, meanwhile), List.of(meanwhile, before),
                List.of(meanwhile, meanwhile), List.of(meanwhile, after), List.of(after, meanwhile))) {
            FleetToken worker = two.get(0);
            FleetToken router = two.get(1);
            RequestProof registers = RequestProof.parse(RequestProof.of(worker, R, W, 1, "/x", body));
            assertThat(said.isProvedByWorker(router, said.workerProof(worker))).isTrue();
            assertThat(said.isProvedByRouter(worker, said.routerProof(router))).isTrue();
            assertThat(registers).isNotNull();
            assertThat(registers.holds(router, R, "/x", body)).isTrue();
            assertThat(registers.holds(router, R, "/x", new byte[0])).isFalse();
        }
        assertThat(said.isProvedByWorker(after, said.workerProof(before))).isFalse();
    }

    @Test
    void a_nonce_is_nothing_that_could_mean_something_else() {
        assertThatThrownBy(() -> new Handshake("worker\n" + R, W, "w", 7)).hasMessage("a nonce has 32 hex digits");
        assertThat(Handshake.isNonce(R.toUpperCase() + "A")).isFalse();
        assertThat(Handshake.isNonce("A".repeat(32))).isFalse();
    }

    @Test
    void a_request_is_signed_with_challenge_sender_number_path_and_body() {
        byte[] body = "{}".getBytes(StandardCharsets.UTF_8);
        RequestProof proof = RequestProof.parse(RequestProof.of(HUSH, R, W, 3, "/x", body));

        assertThat(proof).isNotNull();
        assertThat(proof.number()).isEqualTo(3);
        assertThat(proof.holds(HUSH, R, "/x", body)).isTrue();
        assertThat(proof.holds(HUSH, W, "/x", body)).isFalse();
        assertThat(proof.holds(HUSH, R, "/y", body)).isFalse();
        assertThat(proof.holds(HUSH, R, "/x", new byte[0])).isFalse();
        assertThat(new RequestProof(W, 4, proof.signature()).holds(HUSH, R, "/x", body)).isFalse();
        assertThat(new RequestProof(R, 3, proof.signature()).holds(HUSH, R, "/x", body)).isFalse();
        for (String header : List.of("", "Bearer hush", "Warmpath a.1.b", "Warmpath " + W + ".0." + "a".repeat(64))) {
            assertThat(RequestProof.parse(header)).as(header).isNull();
        }
    }
}
