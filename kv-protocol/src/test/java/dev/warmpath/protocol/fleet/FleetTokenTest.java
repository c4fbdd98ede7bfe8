package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class FleetTokenTest {

    @Test
    void a_token_is_proved_by_its_bearer_header_only() {
        FleetToken token = FleetToken.of("hush");

        assertThat(token.isProvedBy("Bearer hush")).isTrue();
        assertThat(token.isProvedBy("Bearer hus")).isFalse();
        assertThat(token.isProvedBy("hush")).isFalse();
        assertThat(token.isProvedBy(null)).isFalse();
        assertThat(token).hasToString("FleetToken[set]");
    }

    @Test
    void while_it_is_changed_either_of_the_two_is_taken() {
        FleetToken changing = FleetToken.of("new", "old");

        assertThat(changing.isProvedBy("Bearer new")).isTrue();
        assertThat(changing.isProvedBy("Bearer old")).isTrue();
        assertThat(changing.isProvedBy("Bearer older")).isFalse();
        assertThat(changing.isProvedBy("Bearer new,old")).isFalse();
        assertThat(changing.open(FleetToken.of("old").seal("text"))).isEqualTo("text");
        assertThat(changing.open(FleetToken.of("new").seal("text"))).isEqualTo("text");
        assertThat(changing.open(FleetToken.of("older").seal("text"))).isNull();
        assertThat(FleetToken.of("old").open(changing.seal("text"))).isEqualTo("text");
        assertThat(FleetToken.of("new").open(changing.seal("text"))).isEqualTo("text");
        assertThat(FleetToken.of("older").open(changing.seal("text"))).isNull();
        assertThat(FleetToken.NONE.open(changing.seal("text"))).isNull();
        assertThat(changing).hasToString("FleetToken[set]");
    }

    @Test
    void who_is_changed_by_nothing_is_not_changed() {
        assertThat(FleetToken.of("new", " ").seal("text")).isEqualTo(FleetToken.of("new").seal("text"));
        assertThatThrownBy(() -> FleetToken.of(" ", "old"))
                .hasMessage("there is a previous token, and no token that came after it");
    }

    @Test
    void a_fleet_without_a_token_asks_for_none() {
        assertThat(FleetToken.of(" ").isNone()).isTrue();
        assertThat(FleetToken.of(null).isProvedBy(null)).isTrue();
    }

    /** Spring Boot takes a blank address for none, and Java's for this machine's own. */
    @Test
    void without_a_token_only_an_address_of_this_machine_may_be_bound() {
        for (String own : new String[] {"127.0.0.1", "127.8.9.10", "::1", "localhost"}) {
            assertThat(FleetToken.NONE.allowsBinding(own)).as(own).isTrue();
        }
        for (String open : new String[] {null, "", " ", "0.0.0.0", "::", "192.0.2.1"}) {
            assertThat(FleetToken.NONE.allowsBinding(open)).as(open).isFalse();
            assertThat(FleetToken.of("hush").allowsBinding(open)).as(open).isTrue();
        }
    }

    /** The value is that of {@code openssl dgst -sha256 -hmac hush}. */
    @Test
    void a_sealed_text_is_opened_by_the_same_token_only() {
        FleetToken token = FleetToken.of("hush");
        String sealed = token.seal("{\"a\":\n1}");

        assertThat(token.seal("text"))
                .isEqualTo("26e9453b04e7972aea215ac53e42ffca8a1c02fcf3d14a805eea3dfd3080e762\ntext");
        assertThat(token.open(sealed)).isEqualTo("{\"a\":\n1}");
        assertThat(FleetToken.of("hush ").open(sealed)).isNotNull();
        assertThat(FleetToken.of("other").open(sealed)).isNull();
        assertThat(FleetToken.NONE.open(sealed)).isNull();
        assertThat(token.open(sealed + " ")).isNull();
        assertThat(token.open("none\n{}")).isNull();
        assertThat(token.open("")).isNull();
    }

    @Test
    void without_a_token_there_is_no_seal() {
        assertThat(FleetToken.NONE.seal("text")).isEqualTo("none\ntext");
        assertThat(FleetToken.NONE.open("none\ntext")).isEqualTo("text");
        assertThat(FleetToken.NONE.open("some\ntext")).isNull();
    }
}
