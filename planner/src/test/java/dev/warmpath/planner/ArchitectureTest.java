package dev.warmpath.planner;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Who may use whom. A new arrow is a line here, with its reason in the commit. */
@AnalyzeClasses(packages = "dev.warmpath.planner", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    @ArchTest
    static final ArchRule packages_use_what_lies_below_them = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("program").definedBy("dev.warmpath.planner")
            .layer("command").definedBy("dev.warmpath.planner.command")
            .layer("study").definedBy("dev.warmpath.planner.study")
            .layer("analysis").definedBy("dev.warmpath.planner.analysis")
            .layer("replay").definedBy("dev.warmpath.planner.replay")
            .layer("load").definedBy("dev.warmpath.planner.load")
            .layer("trace").definedBy("dev.warmpath.planner.trace")
            .layer("comparison").definedBy("dev.warmpath.planner.comparison")
            .layer("simulation").definedBy("dev.warmpath.planner.simulation")
            .layer("cost").definedBy("dev.warmpath.planner.cost")
            .layer("output").definedBy("dev.warmpath.planner.output")
            .whereLayer("command").mayOnlyBeAccessedByLayers("program")
            .whereLayer("analysis").mayOnlyBeAccessedByLayers("command")
            .whereLayer("replay").mayOnlyBeAccessedByLayers("command")
            .whereLayer("study").mayOnlyBeAccessedByLayers("command")
            .whereLayer("cost").mayOnlyBeAccessedByLayers("command")
            .whereLayer("comparison").mayNotBeAccessedByAnyLayer()
            .whereLayer("load").mayOnlyBeAccessedByLayers("study", "command")
            .whereLayer("trace").mayOnlyBeAccessedByLayers("load", "analysis", "replay", "command", "cost")
            .whereLayer("output").mayOnlyBeAccessedByLayers("load", "study", "analysis", "replay", "command");

    @ArchTest
    static final ArchRule options_are_read_by_commands_alone = noClasses().that()
            .resideOutsideOfPackages("dev.warmpath.planner.command")
            .should().dependOnClassesThat().resideInAnyPackage("picocli..")
            .because("what a command does can be called and tested without a command line");
}
