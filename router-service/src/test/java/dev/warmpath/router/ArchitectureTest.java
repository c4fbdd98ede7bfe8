package dev.warmpath.router;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameEndingWith;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The drawing of the router in {@code design.md}. A new arrow is a line here, with its reason in the commit. */
@AnalyzeClasses(packages = "dev.warmpath.router", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    private static final String ROOT = "dev.warmpath.router";

    /** Package → the packages of the router that it may use. In the order that a request meets them. */
    private static final Map<String, List<String>> ARROWS = Map.ofEntries(
            // the edge: JSON to requests, events to JSON; shows models and decisions, some of it to operators only
            Map.entry("openai", List.of(
                    "http", "keys", "fields", "completion", "answer", "admission", "fleet", "models", "routing",
                    "decisions")),
            // a bad field is a bad request
            Map.entry("fields", List.of("completion")),
            // under every dialect: each request asked for its key, bodies admitted and read, answers written, each
            // error its status
            Map.entry("http", List.of(
                    "keys", "fields", "completion", "admission", "fleet", "models", "routing", "dispatch", "metrics")),
            // beneath both: deadlines of connections; what comes too late gets an error of the public API, and whoever
            // is not in use ends when the router drains
            Map.entry("connections", List.of("http", "completion", "metrics")),
            // the spine
            Map.entry("completion", List.of(
                    "keys", "admission", "fleet", "models", "routing", "dispatch", "answer", "decisions", "metrics",
                    "tracing")),
            // what callers may use in a minute; who was refused is counted
            Map.entry("keys", List.of("metrics")),
            // one choice's tokens, to text
            Map.entry("answer", List.of()),
            // readiness asks whether a model is served, a line whether workers have room; refusals are counted
            Map.entry("admission", List.of("fleet", "models", "routing", "metrics")),
            // choices of routing in, broken connections to the fleet and what came of each choice out
            Map.entry("dispatch", List.of(
                    "routing", "fleet", "health", "decisions", "metrics", "tracing", "handshake")),
            // a choice and its end, written down
            Map.entry("decisions", List.of("routing", "fleet", "health", "metrics")),
            // what is asked and answered, in the words of its record; stages are timed
            Map.entry("tracing", List.of("decisions", "metrics")),
            Map.entry("routing", List.of("fleet", "models", "health", "prefix")),
            Map.entry("prefix", List.of()),
            // a worker that goes takes its index entries along
            Map.entry("fleet", List.of("prefix", "models", "health")),
            Map.entry("models", List.of()),
            Map.entry("health", List.of()),
            // beside the way of requests: what comes in from workers, counted
            Map.entry("management", List.of("fleetlink", "fleet", "prefix")),
            Map.entry("fleetlink", List.of("fleet", "health", "prefix", "metrics", "handshake")),
            // beside the way of requests: what happens, shown to who watches; prompts by their chains, and decisions
            Map.entry("live", List.of("fleetlink", "fleet", "health", "models", "routing", "decisions", "prefix")),
            // a command of its own, no router around it: what a router reads in Redis, looked at
            Map.entry("audit", List.of("fleetlink", "prefix")),
            // under every connection to a worker, whoever opens it
            Map.entry("handshake", List.of()),
            Map.entry("metrics", List.of()));

    @ArchTest
    static void every_package_is_in_the_drawing(JavaClasses router) {
        assertThat(router.stream().map(type -> type.getPackageName()).filter(name -> !name.equals(ROOT))
                .map(name -> name.substring(ROOT.length() + 1).split("\\.")[0]).collect(Collectors.toSet()))
                .isSubsetOf(ARROWS.keySet());
    }

    @ArchTest
    static void packages_use_only_what_their_arrows_point_at(JavaClasses router) {
        ARROWS.forEach((from, to) -> {
            String[] allowed = Stream.concat(Stream.of(from), to.stream()).map(ArchitectureTest::inside)
                    .toArray(String[]::new);
            classes().that().resideInAPackage(inside(from))
                    .should().onlyDependOnClassesThat(
                            resideInAnyPackage(allowed).or(not(resideInAPackage(ROOT + ".."))))
                    .allowEmptyShould(true)
                    .check(router);
        });
    }

    @ArchTest
    static final ArchRule no_step_calls_backwards = slices().matching(ROOT + ".(*)..").should().beFreeOfCycles()
            .because("news travels as return values or sealed events");

    @ArchTest
    static final ArchRule the_two_roads_to_a_worker_do_not_know_each_other = slices()
            .matching(ROOT + ".fleetlink.(*)..").should().notDependOnEachOther()
            .because("the link chooses between them");

    @ArchTest
    static final ArchRule a_road_does_not_know_who_takes_it = noClasses()
            .that().resideInAnyPackage(inside("fleetlink.log"), inside("fleetlink.stream"))
            .should().dependOnClassesThat().resideInAPackage(ROOT + ".fleetlink")
            .because("the link chooses between them");

    @ArchTest
    static final ArchRule decisions_index_and_text_are_plain_java = noClasses()
            .that(resideInAnyPackage(inside("routing"), inside("prefix"), inside("answer"), inside("models"))
                    .and(not(simpleNameEndingWith("Configuration"))).and(not(simpleNameEndingWith("Properties"))))
            .should().dependOnClassesThat().resideInAnyPackage("org.springframework..", "reactor..", "io.netty..")
            .because("they must be runnable, testable and measurable from a plain main; only their wiring and settings are "
                    + "Spring's");

    @ArchTest
    static final ArchRule a_policy_of_others_is_known_to_the_wiring_only = noClasses()
            .that().resideOutsideOfPackage(inside("routing.peers")).and(not(simpleNameEndingWith("Configuration")))
            .should().dependOnClassesThat().resideInAPackage(inside("routing.peers"))
            .because("a decision must not depend on which rule made it");

    @ArchTest
    static final ArchRule reactive_types_stay_at_the_edge = noClasses()
            // the entry: who guards the server's event loops has its builder in hand
            .that().resideOutsideOfPackages(ROOT,
                    inside("openai"), inside("http"), inside("connections"), inside("completion"), inside("dispatch"),
                    inside("fleetlink"), inside("management"), inside("live"))
            .should().dependOnClassesThat().resideInAPackage("reactor..")
            .because("Mono and Flux live in controllers, the streaming client and the spine, nowhere deeper");

    @ArchTest
    static final ArchRule no_answer_is_flushed_by_groups = noClasses()
            .should().callMethodWhere(target(name("writeAndFlushWith")))
            .because("flushing by groups loses a request now and then, and an answer stands still: docs/decisions/0005");

    private static String inside(String name) {
        return ROOT + "." + name + "..";
    }
}
