package dev.warmpath.acceptance;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The clients that many use on the JVM, each by its own types, before one fleet. */
@Tag("full")
class JvmClientsFullTest {

    private static ClientsFleet fleet;

    @BeforeAll
    static void start() {
        fleet = new ClientsFleet();
    }

    @AfterAll
    static void close() {
        fleet.close();
    }

    @Nested
    class OpenAiJava extends OpenAiJavaScenarios {
        OpenAiJava() {
            super(fleet);
        }
    }

    @Nested
    class SpringAi extends SpringAiScenarios {
        SpringAi() {
            super(fleet);
        }
    }

    @Nested
    class LangChain4j extends LangChain4jScenarios {
        LangChain4j() {
            super(fleet);
        }
    }
}
