package dev.warmpath.process;

import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.core.io.Resource;
import org.springframework.http.HttpMethod;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RequestPredicate;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.support.RouterFunctionMapping;
import org.springframework.web.reactive.handler.AbstractUrlHandlerMapping;
import org.springframework.web.reactive.result.method.RequestMappingInfo;
import org.springframework.web.reactive.result.method.RequestMappingInfoHandlerMapping;
import reactor.core.publisher.Mono;

/**
 * Everything that a running service maps, on whichever of its ports, and what each port answers to somebody without a
 * token. To be imported into a test's context; a kind of mapping that it does not know is an error.
 */
public final class Doors implements ApplicationListener<WebServerInitializedEvent> {

    private static final Duration TIMEOUT = Duration.ofMinutes(10);
    private static final Pattern ROUTE = Pattern.compile("\\((\\w+) && (\\S+)\\)");
    private final Map<String, WebServerInitializedEvent> servers = new LinkedHashMap<>();

    @Override
    public void onApplicationEvent(WebServerInitializedEvent opened) {
        servers.put("management".equals(opened.getApplicationContext().getServerNamespace()) ? "management" : "public",
                opened);
    }

    /** @return lines like {@code GET /metrics: public 200, management 404}, sorted by path */
    public List<String> answers() {
        Map<String, SequencedSet<String>> methodsByPath = new TreeMap<>();
        servers.values().forEach(server -> collect(server.getApplicationContext(), (method, path) ->
                methodsByPath.computeIfAbsent(path, _ -> new TreeSet<>(List.of("HEAD", "OPTIONS"))).add(method)));
        List<String> lines = new ArrayList<>();
        try (HttpClient http = HttpClient.newHttpClient()) {
            methodsByPath.forEach((path, methods) -> methods.forEach(method -> lines.add(method + " " + path + ": public "
                    + status(http, "public", method, path) + ", management "
                    + status(http, "management", method, path))));
        }
        return lines;
    }

    /** @param server public or management */
    public int port(String server) {
        return servers.get(server).getWebServer().getPort();
    }

    private int status(HttpClient http, String server, String method, String path) {
        String filled = path.replaceAll("\\{[^}]*}|\\*+", "x");
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port(server) + filled))
                .timeout(TIMEOUT).header("content-type", "application/json")
                .method(method, HttpRequest.BodyPublishers.noBody()).build();
        try {
            HttpResponse<InputStream> answer = http.send(request, HttpResponse.BodyHandlers.ofInputStream());
            answer.body().close();                                 // some never end
            return answer.statusCode();
        } catch (Exception e) {
            throw new IllegalStateException(method + " " + path, e);
        }
    }

    private interface Found {
        void add(String method, String path);
    }

    private static void collect(ApplicationContext context, Found found) {
        context.getBeansOfType(HandlerMapping.class).forEach((name, mapping) -> {
            switch (mapping) {
                case RequestMappingInfoHandlerMapping methods ->
                        methods.getHandlerMethods().keySet().forEach(info -> collect(info, found));
                case RouterFunctionMapping routes -> {
                    if (routes.getRouterFunction() != null) {
                        routes.getRouterFunction().accept(new RouteReader(found));
                    }
                }
                case AbstractUrlHandlerMapping urls ->
                        urls.getHandlerMap().keySet().forEach(path -> found.add("GET", path.getPatternString()));
                case HandlerMapping none when none.getClass().getSimpleName().equals("EmptyHandlerMapping") -> { }
                default -> throw new IllegalStateException("unknown mapping " + name + ": " + mapping);
            }
        });
    }

    private static void collect(RequestMappingInfo info, Found found) {
        List<String> methods = info.getMethodsCondition().getMethods().stream().map(RequestMethod::name).toList();
        for (String method : methods.isEmpty() ? List.of("GET", "POST") : methods) {
            info.getPatternsCondition().getPatterns().forEach(path -> found.add(method, path.getPatternString()));
        }
    }

    private record RouteReader(Found found) implements RouterFunctions.Visitor {
        @Override
        public void route(RequestPredicate predicate, HandlerFunction<?> handler) {
            Matcher route = ROUTE.matcher(predicate.toString());
            if (!route.matches()) {
                throw new IllegalStateException("unknown route " + predicate);
            }
            found.add(HttpMethod.valueOf(route.group(1)).name(), route.group(2));
        }

        @Override
        public void resources(Function<ServerRequest, Mono<Resource>> lookup) {
            throw new IllegalStateException("unknown resources " + lookup);
        }

        @Override
        public void unknown(RouterFunction<?> route) {
            throw new IllegalStateException("unknown route " + route);
        }

        @Override
        public void startNested(RequestPredicate predicate) {
            throw new IllegalStateException("unknown nest " + predicate);
        }

        @Override
        public void endNested(RequestPredicate predicate) {}

        @Override
        public void attributes(Map<String, Object> attributes) {}
    }
}
