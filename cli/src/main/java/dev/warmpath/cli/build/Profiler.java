package dev.warmpath.cli.build;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.LogTail;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** async-profiler's library for this machine, fetched once by Maven, which checks its sum. */
public final class Profiler {

    private static final String VERSION = "4.1";
    private static final int LAST_LINES = 25;

    private Profiler() {}

    /** @throws CommandException if there is none for this machine, or it cannot be fetched */
    public static Path library(Installation installation, Programs programs, Progress progress) throws IOException {
        String entry = platform() + "/libasyncProfiler.so";
        Path folder = Files.createDirectories(installation.state().resolve("profiler-" + VERSION));
        Path library = folder.resolve(entry);
        if (Files.exists(library)) {
            return library;
        }
        progress.begin("fetching async-profiler " + VERSION + " by Maven (once)", () -> "");
        Path log = installation.log("profiler");
        var maven = new Maven(installation, programs);
        int status = maven.programs().log(maven.command(List.of("-q", "-N", "dependency:copy",
                "-Dartifact=tools.profiler:async-profiler:" + VERSION, "-DoutputDirectory=" + folder)), log);
        progress.end();
        Path jar = folder.resolve("async-profiler-" + VERSION + ".jar");
        if (status != 0 || !Files.exists(jar)) {
            LogTail.lines(log, LAST_LINES).forEach(System.err::println);
            throw new CommandException("async-profiler could not be fetched");
        }
        unpack(jar, entry, library);
        return library;
    }

    /** The jar holds a library for each platform. */
    private static void unpack(Path jar, String name, Path library) throws IOException {
        try (var zip = new ZipFile(jar.toFile())) {
            ZipEntry entry = zip.getEntry(name);
            if (entry == null) {
                throw new CommandException(jar + " has no " + name);
            }
            Path part = library.resolveSibling("part");
            Files.createDirectories(library.getParent());
            try (InputStream bytes = zip.getInputStream(entry)) {
                Files.copy(bytes, part, StandardCopyOption.REPLACE_EXISTING);
            }
            Files.move(part, library, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private static String platform() {
        String system = System.getProperty("os.name");
        String architecture = System.getProperty("os.arch");
        if (system.startsWith("Mac")) {
            return "macos";
        }
        if (system.equals("Linux") && architecture.equals("amd64")) {
            return "linux-x64";
        }
        if (system.equals("Linux") && architecture.equals("aarch64")) {
            return "linux-arm64";
        }
        throw new CommandException("there is no profiler for " + system + " on " + architecture
                + "; docs/tracing-the-process.md has what the JDK can do");
    }
}
