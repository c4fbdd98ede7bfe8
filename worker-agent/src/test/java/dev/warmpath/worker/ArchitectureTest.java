package dev.warmpath.worker;

import static com.tngtech.archunit.base.DescribedPredicate.alwaysTrue;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The drawing of the worker, as a test: a new arrow is an edit here, with its reason. */
@AnalyzeClasses(packages = "dev.warmpath.worker", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    @ArchTest
    static final ArchRule every_package_uses_only_what_stands_behind_it = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("wiring").definedBy("dev.warmpath.worker")
            .layer("generate").definedBy("..worker.generate..")
            .layer("tracing").definedBy("..worker.tracing..")
            .layer("engine").definedBy("..worker.engine..")
            .layer("scheduler").definedBy("..worker.scheduler..")
            .layer("kvcache").definedBy("..worker.kvcache..")
            .layer("flightrecorder").definedBy("..worker.flightrecorder..")
            .layer("histogram").definedBy("..worker.histogram..")
            .layer("model").definedBy("..worker.model..")
            .layer("compute").definedBy("..worker.compute..")
            .layer("foreign").definedBy("..worker.foreign..")
            .layer("routerlink").definedBy("..worker.routerlink..")
            .layer("metrics").definedBy("..worker.metrics..")
            .layer("poolfeed").definedBy("..worker.poolfeed..")
            .whereLayer("wiring").mayNotBeAccessedByAnyLayer()
            // a condition of the wiring's, which stands on what it is about
            .ignoreDependency(alwaysTrue(), equivalentTo(OnOwnEngine.class))
            .whereLayer("generate").mayOnlyBeAccessedByLayers("wiring")
            .whereLayer("foreign").mayOnlyBeAccessedByLayers("wiring")
            .whereLayer("metrics").mayOnlyBeAccessedByLayers("wiring")
            .whereLayer("poolfeed").mayOnlyBeAccessedByLayers("wiring")
            .whereLayer("routerlink").mayOnlyBeAccessedByLayers("wiring", "metrics", "poolfeed")
            .whereLayer("tracing").mayOnlyBeAccessedByLayers("generate")
            // a foreign engine stands in the place of our own, and tells the same listeners
            .whereLayer("engine").mayOnlyBeAccessedByLayers(
                    "wiring", "generate", "tracing", "metrics", "foreign", "poolfeed")
            // the feed of the pool reads their books, by looks on the engine's thread
            .whereLayer("scheduler").mayOnlyBeAccessedByLayers("wiring", "engine", "poolfeed")
            .whereLayer("kvcache").mayOnlyBeAccessedByLayers("wiring", "engine", "scheduler", "poolfeed")
            .whereLayer("flightrecorder").mayOnlyBeAccessedByLayers("engine", "scheduler")
            .whereLayer("histogram").mayOnlyBeAccessedByLayers("kvcache", "engine", "metrics")
            .whereLayer("model").mayOnlyBeAccessedByLayers("wiring", "engine")
            .whereLayer("compute").mayOnlyBeAccessedByLayers("wiring", "engine", "model");

    @ArchTest
    static final ArchRule the_bodies_of_the_compute_seam_are_known_to_the_wiring_alone = noClasses()
            .that().resideInAnyPackage("..engine..", "..scheduler..", "..kvcache..", "..model..", "..generate..",
                    "..metrics..", "..routerlink..", "..poolfeed..", "..foreign..", "dev.warmpath.worker.compute")
            .should().dependOnClassesThat().resideInAnyPackage("..compute.cpu..", "..compute.cuda..")
            .because("what computes is chosen in one place, and nobody else may find out");

    @ArchTest
    static final ArchRule a_machine_without_cuda_never_touches_its_classes = noClasses()
            .that().resideInAPackage("..compute.cpu..")
            .should().dependOnClassesThat().resideInAPackage("..compute.cuda..");

    @ArchTest
    static final ArchRule foreign_protocols_are_spoken_in_one_place = noClasses()
            .that().resideOutsideOfPackage("..foreign.event..")
            .should().dependOnClassesThat().resideInAnyPackage("org.zeromq..", "org.msgpack..")
            .because("what an engine's events look like is nobody else's to know");

    @ArchTest
    static final ArchRule no_circles = slices().matching("dev.warmpath.worker.(*)..").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule the_engine_and_what_it_stands_on_are_plain_java = noClasses()
            .that().resideInAnyPackage("..engine..", "..scheduler..", "..kvcache..", "..histogram..",
                    "..flightrecorder..", "..model..", "..compute..", "..foreign.event..")
            .should().dependOnClassesThat().resideInAnyPackage("org.springframework..", "reactor..", "io.micrometer..")
            .because("the engine must be runnable, testable and measurable from a plain main");

    @ArchTest
    static final ArchRule no_spring_in_what_stands_beside_a_foreign_engine = noClasses()
            .that().resideInAPackage("..foreign..")
            .should().dependOnClassesThat().resideInAnyPackage("org.springframework..", "io.micrometer..")
            .because("it must be runnable and testable from a plain main, as our own engine");

    @ArchTest
    static final ArchRule no_answer_is_flushed_by_groups = noClasses()
            .should().callMethodWhere(target(name("writeAndFlushWith")))
            .because("flushing by groups loses a request now and then, and an answer stands still: docs/decisions/0005");
}
