package dev.warmpath.cli;

import dev.warmpath.cli.fleet.Installation;
import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.IVersionProvider;

/** Version and commit, as the build wrote them into the jar's manifest. */
final class VersionProvider implements IVersionProvider {

    private static final Pattern PARENT = Pattern.compile("<parent>.*?</parent>", Pattern.DOTALL);
    private static final Pattern VERSION = Pattern.compile("<version>(.*?)</version>");

    @Override
    public String[] getVersion() throws IOException {
        Attributes manifest = manifest();
        String version = manifest.getValue(Attributes.Name.IMPLEMENTATION_VERSION);
        String commit = manifest.getValue("Commit");
        return new String[] {"warmpath " + (version == null ? "(not from a jar)" : version)
                + (commit == null ? "" : ", commit " + commit)};
    }

    private static Attributes manifest() throws IOException {
        URL own = VersionProvider.class.getProtectionDomain().getCodeSource().getLocation();
        if (!own.getPath().endsWith(".jar")) {
            return new Attributes();
        }
        try (var stream = URI.create("jar:" + own + "!/META-INF/MANIFEST.MF").toURL().openStream()) {
            return new Manifest(stream).getMainAttributes();
        }
    }

    /** The checkout's, by its root POM: the first version that is not the parent's. */
    static String projectVersion(Installation installation) throws IOException {
        String pom = PARENT.matcher(Files.readString(installation.home().resolve("pom.xml"))).replaceFirst("");
        Matcher version = VERSION.matcher(pom);
        return version.find() ? version.group(1) : "";
    }
}
