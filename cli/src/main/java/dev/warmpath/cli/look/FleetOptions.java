package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Role;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which fleet is meant, and the secrets for it: by options, by the environment, or by the fleet file. */
final class FleetOptions {

    @Option(names = "--router", paramLabel = "URL",
            description = "A router's API, such as http://127.0.0.1:8080; again for more (default: the routers that"
                    + " 'up' has started).")
    List<URI> routers = new ArrayList<>();

    @Option(names = "--management", paramLabel = "URL",
            description = "The management port of each --router (default: its port + 1000).")
    List<URI> management = new ArrayList<>();

    @Option(names = "--token", paramLabel = "TOKEN",
            description = "The operators' token (default: WARMPATH_MANAGEMENT_TOKEN, or that of 'up').")
    @Nullable String token;

    /** @throws CommandException if there is no fleet, or the options name none */
    Fleet fleet(Installation installation) {
        return fleet(installation, null);
    }

    /** @param key of the API; null: the environment's */
    Fleet fleet(Installation installation, @Nullable String key) {
        Secrets secrets = Secrets.find(token, key, installation);
        List<Fleet.Router> found = new ArrayList<>();
        if (routers.isEmpty()) {
            for (FleetMember router : started(installation)) {
                found.add(router(router.url(), router.management(""), secrets));
            }
            return new Fleet(found, secrets);
        }
        if (!management.isEmpty() && management.size() != routers.size()) {
            throw new CommandException("--management is there " + management.size() + " times and --router "
                    + routers.size() + " times: name both of each router");
        }
        for (int i = 0; i < routers.size(); i++) {
            URI api = checked("--router", routers.get(i));
            found.add(router(api, management.isEmpty() ? managementOf(api)
                    : checked("--management", management.get(i)), secrets));
        }
        return new Fleet(found, secrets);
    }

    private static List<FleetMember> started(Installation installation) {
        @Nullable FleetFile file = FleetFile.read(installation.state());
        if (file == null || file.of(Role.ROUTER).isEmpty()) {
            throw new CommandException("no fleet is running here (" + installation.state()
                    + " names none): start one by ./warmpath up, or name a router by --router URL");
        }
        return file.of(Role.ROUTER);
    }

    private static Fleet.Router router(URI api, URI management, Secrets secrets) {
        return new Fleet.Router(HttpServer.api(api, "the router's API", secrets.key(), secrets.keyAdvice()),
                secrets.router(management));
    }

    /** Where the launcher and the chart put it, of routers and workers. */
    static URI managementOf(URI url) {
        int usual = url.getScheme().equals("https") ? 443 : 80;
        int port = (url.getPort() < 0 ? usual : url.getPort()) + FleetMember.MANAGEMENT_OFFSET;
        return URI.create(url.getScheme() + "://" + url.getHost() + ":" + port);
    }

    /** Without a path. */
    static URI checked(String option, String url) {
        try {
            return checked(option, new URI(url));
        } catch (URISyntaxException e) {
            throw new CommandException(option + " " + url + " is no URL of a server: write http://HOST:PORT");
        }
    }

    private static URI checked(String option, URI url) {
        boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
        if (!http || url.getHost() == null) {
            throw new CommandException(option + " " + url + " is no URL of a server: write http://HOST:PORT");
        }
        return URI.create(url.getScheme() + "://" + url.getRawAuthority());
    }
}
