package dev.warmpath.process;

import com.google.protobuf.InvalidProtocolBufferException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

/** A collector of traces on loopback: takes OTLP over HTTP, as protobuf, and keeps what it is sent. */
public final class OtlpReceiver implements AutoCloseable {

    private static final String PATH = "/v1/traces";

    private final HttpServer server;
    private final List<byte[]> bodies = new CopyOnWriteArrayList<>();
    private final List<ReceivedSpan> spans = new CopyOnWriteArrayList<>();

    /**
     * A span as it came, ids in hex.
     *
     * @param service    name of the process's service
     * @param parentId   empty for a root
     * @param attributes values as Java's: Long, Double, Boolean, String, List
     */
    public record ReceivedSpan(String service, String name, Span.SpanKind kind, String traceId, String spanId,
            String parentId, long startNanos, long endNanos, Map<String, Object> attributes, List<String> events,
            boolean isError) {}

    public OtlpReceiver() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext(PATH, this::take);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
    }

    public String endpoint() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + PATH;
    }

    /** All that have come, in the order in which they began. */
    public List<ReceivedSpan> spans() {
        return spans.stream().sorted(Comparator.comparingLong(ReceivedSpan::startNanos)).toList();
    }

    public List<ReceivedSpan> spansOf(String traceId) {
        return spans().stream().filter(span -> span.traceId().equals(traceId)).toList();
    }

    /** Every request's body, as it came. */
    public List<byte[]> bodies() {
        return bodies;
    }

    private void take(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            bodies.add(body);
            read(ExportTraceServiceRequest.parseFrom(body));
            exchange.sendResponseHeaders(200, -1);
        } catch (InvalidProtocolBufferException e) {
            exchange.sendResponseHeaders(400, -1);
        }
    }

    private void read(ExportTraceServiceRequest request) {
        for (ResourceSpans resource : request.getResourceSpansList()) {
            String service = String.valueOf(read(resource.getResource().getAttributesList()).get("service.name"));
            resource.getScopeSpansList().forEach(scope ->
                    scope.getSpansList().forEach(span -> spans.add(read(service, span))));
        }
    }

    private static ReceivedSpan read(String service, Span span) {
        var hex = HexFormat.of();
        return new ReceivedSpan(service, span.getName(), span.getKind(),
                hex.formatHex(span.getTraceId().toByteArray()), hex.formatHex(span.getSpanId().toByteArray()),
                hex.formatHex(span.getParentSpanId().toByteArray()), span.getStartTimeUnixNano(),
                span.getEndTimeUnixNano(), read(span.getAttributesList()),
                span.getEventsList().stream().map(Span.Event::getName).toList(),
                span.getStatus().getCodeValue() == 2);
    }

    private static Map<String, Object> read(List<KeyValue> attributes) {
        Map<String, Object> values = new TreeMap<>();
        attributes.forEach(each -> values.put(each.getKey(), read(each.getValue())));
        return values;
    }

    private static Object read(AnyValue value) {
        return switch (value.getValueCase()) {
            case STRING_VALUE -> value.getStringValue();
            case BOOL_VALUE -> value.getBoolValue();
            case INT_VALUE -> value.getIntValue();
            case DOUBLE_VALUE -> value.getDoubleValue();
            case ARRAY_VALUE -> new ArrayList<>(value.getArrayValue().getValuesList().stream()
                    .map(OtlpReceiver::read).toList());
            default -> throw new IllegalStateException("an attribute of no known type: " + value);
        };
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
