package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.Doors;
import dev.warmpath.router.RouterApplication;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Import;

/** A whole router whose file of keys is not there yet, asked by somebody who has none. */
@Import(Doors.class)
@SpringBootTest(classes = RouterApplication.class, webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.api-keys.file=/nowhere/keys", "management.server.port=0"})
class KeyedDoorsTest {

    @Autowired
    Doors doors;

    @Test
    void every_mapping_of_the_public_port_but_three_answers_a_stranger_with_401_by_any_method() {
        assertThat(doors.answers()).hasSizeGreaterThan(60)
                .allMatch(line -> line.contains(": public 401, ")
                        || line.matches("\\w+ /(health|ping|version): public (200|503), management 404"));
    }
}
