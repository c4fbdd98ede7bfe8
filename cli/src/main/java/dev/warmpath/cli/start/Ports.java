package dev.warmpath.cli.start;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetMember;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Where a fleet's processes listen: routers on P, P + 100 …, workers on P + 1 …, Redis on P + 900, and the management
 * of routers and workers each 1000 above.
 *
 * @param host  on which it listens
 * @param first P
 */
public record Ports(String host, int first, int routers) {

    static final int ROUTER_OFFSET = 100;
    private static final int REDIS_OFFSET = 900;
    /** Of the Redis that is started here, whatever the host. */
    static final String REDIS_HOST = "127.0.0.1";
    /** The last one that has a management port. */
    static final int MOST = 65535 - FleetMember.MANAGEMENT_OFFSET;
    private static final int PATIENCE_MILLIS = 2000;

    int router(int index) {
        return first + index * ROUTER_OFFSET;
    }

    /** @param number from 1 */
    int worker(int number) {
        return first + number;
    }

    int redis() {
        return first + REDIS_OFFSET;
    }

    /** An address that means all of this machine's is asked by one of them. */
    private String asked() {
        return switch (host) {
            case "0.0.0.0" -> "127.0.0.1";
            case "::" -> "::1";
            default -> host;
        };
    }

    URI url(int port) {
        String host = asked();
        return URI.create("http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port);
    }

    /** What workers are told, in one setting. */
    String routerManagements() {
        return IntStream.range(0, routers).map(index -> router(index) + FleetMember.MANAGEMENT_OFFSET)
                .mapToObj(port -> url(port).toString()).collect(Collectors.joining(","));
    }

    List<URI> routerUrls() {
        return IntStream.range(0, routers).mapToObj(index -> url(router(index))).toList();
    }

    /** @throws CommandException naming the first that somebody listens on */
    void requireFree(int workers, boolean withRedis) {
        List<Integer> ports = new ArrayList<>();
        IntStream.range(0, routers).map(this::router).forEach(ports::add);
        IntStream.rangeClosed(1, workers).map(this::worker).forEach(ports::add);
        for (int port : ports) {
            requireFree(asked(), port);
            requireFree(asked(), port + FleetMember.MANAGEMENT_OFFSET);
        }
        if (withRedis) {
            requireFree(REDIS_HOST, redis());
        }
    }

    private static void requireFree(String host, int port) {
        if (isListening(host, port)) {
            throw new CommandException("port " + port + " is in use; choose another range with --port");
        }
    }

    /** Whether somebody accepts connections there. */
    public static boolean isListening(String host, int port) {
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), PATIENCE_MILLIS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
