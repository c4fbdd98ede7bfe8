package dev.warmpath.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Who may use whom. A new arrow is a line here, with its reason in the commit. */
@AnalyzeClasses(packages = "dev.warmpath.cli", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    @ArchTest
    static final ArchRule commands_use_what_lies_below_them = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("commands").definedBy("dev.warmpath.cli")
            .layer("doctor").definedBy("dev.warmpath.cli.doctor")
            .layer("start").definedBy("dev.warmpath.cli.start")
            .layer("build").definedBy("dev.warmpath.cli.build")
            .layer("fleet").definedBy("dev.warmpath.cli.fleet")
            .whereLayer("commands").mayNotBeAccessedByAnyLayer()
            .whereLayer("doctor").mayOnlyBeAccessedByLayers("commands")
            .whereLayer("start").mayOnlyBeAccessedByLayers("commands", "doctor")
            .whereLayer("build").mayOnlyBeAccessedByLayers("commands", "doctor", "start");

    @ArchTest
    static final ArchRule options_are_read_by_commands_alone = noClasses().that().resideInAnyPackage(
            "dev.warmpath.cli.doctor", "dev.warmpath.cli.start", "dev.warmpath.cli.build", "dev.warmpath.cli.fleet")
            .should().dependOnClassesThat().resideInAnyPackage("picocli..")
            .because("what a command does can be called and tested without a command line");
}
