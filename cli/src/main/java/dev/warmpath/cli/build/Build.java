package dev.warmpath.cli.build;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.LogTail;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Programs' jars, built when they are missing or older than what they are made of. */
public final class Build {

    private static final int LAST_LINES = 25;
    /** What Maven says when it begins with a module. */
    private static final Pattern MODULE = Pattern.compile("Building Warmpath :: (\\S+) \\S+ +\\[(\\d+/\\d+)]");

    private final Installation installation;
    private final Programs programs;
    private final Progress progress;

    public Build(Installation installation, Programs programs, Progress progress) {
        this.installation = installation;
        this.programs = programs;
        this.progress = progress;
    }

    /**
     * All of them are built if one has to be.
     *
     * @throws CommandException if it fails; what the build said has been shown
     */
    public void ifNeeded(List<Service> services) throws IOException {
        boolean areFresh = true;
        for (Service service : services) {
            areFresh &= isFresh(service, installation);
        }
        if (areFresh) {
            return;
        }
        installation.makeFolders();
        for (Service service : services) {
            Path module = installation.home().resolve(service.module());
            Path written = Files.exists(module.resolve("target")) ? module.resolve("target") : module;
            if (!Files.isWritable(written)) {
                throw new CommandException(written + " cannot be written, and the services have to be built there; "
                        + "make the checkout writable, or have its owner call the same command once");
            }
        }
        Path log = installation.logs().resolve("build.log");
        progress.begin("building (the first time, Maven downloads what it needs)", () -> module(log));
        var maven = new Maven(installation, programs);
        int status = maven.programs().log(maven.command(List.of("-DskipTests", "-pl",
                services.stream().map(Service::module).collect(Collectors.joining(",")), "-am", "package")), log);
        progress.end();
        if (status != 0) {
            List<String> errors = LogTail.lines(log, Integer.MAX_VALUE).stream()
                    .filter(line -> !line.startsWith("[INFO]")).toList();
            errors.stream().limit(LAST_LINES).forEach(System.err::println);
            throw new CommandException("the build failed; the whole output is in " + log);
        }
        for (Service service : services) {                         // Maven leaves a jar alone that would be the same
            Files.setLastModifiedTime(service.jar(installation), FileTime.from(Instant.now()));
        }
    }

    /** Whether its jar is newer than all it is made of. */
    public static boolean isFresh(Service service, Installation installation) throws IOException {
        Path jar = service.jar(installation);
        if (!Files.exists(jar)) {
            return false;
        }
        FileTime built = Files.getLastModifiedTime(jar);
        Path home = installation.home();
        Stream<Path> modules = service.modules().stream().map(home::resolve);
        return isOlder(home.resolve("pom.xml"), built) && modules.allMatch(module ->
                isOlder(module.resolve("pom.xml"), built) && isOlder(module.resolve("src/main"), built));
    }

    /** A file that has gone makes its folder newer. */
    private static boolean isOlder(Path made, FileTime built) {
        try (Stream<Path> files = Files.walk(made)) {
            return files.allMatch(file -> file.toFile().lastModified() <= built.toMillis());
        } catch (IOException e) {
            return false;
        }
    }

    /** Which module it is at, and how many there are. */
    static String module(Path log) {
        return LogTail.lines(log, Integer.MAX_VALUE).reversed().stream().map(MODULE::matcher).filter(Matcher::find)
                .map(found -> found.group(1) + ", " + found.group(2)).findFirst().orElse("");
    }
}
