package dev.warmpath.router.openai;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import java.io.IOException;
import java.io.InputStream;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads a request's body as JSON: bounded in length and depth, each name once, nothing after the end. */
@Component
final class RequestBodyReader {

    private static final int MAX_DEPTH = 64;
    private static final int MAX_NAME_CHARS = 1_024;
    private static final int MAX_NUMBER_CHARS = 64;

    private final int maxBodyBytes;
    private final JsonMapper json;

    RequestBodyReader(OpenAiProperties properties) {
        this.maxBodyBytes = (int) properties.maxBody().toBytes();
        var limits = StreamReadConstraints.builder()
                .maxNestingDepth(MAX_DEPTH)
                .maxNameLength(MAX_NAME_CHARS)
                .maxNumberLength(MAX_NUMBER_CHARS)
                .maxStringLength(maxBodyBytes)
                .build();
        this.json = JsonMapper.builder(JsonFactory.builder().streamReadConstraints(limits).build())
                .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .build();
    }

    Mono<RequestFields> read(ServerWebExchange exchange) {
        ServerHttpRequest request = exchange.getRequest();
        refuseOtherThanPlainJson(request.getHeaders());
        if (request.getHeaders().getContentLength() > maxBodyBytes) {
            return Mono.error(tooLarge());
        }
        return DataBufferUtils.join(request.getBody(), maxBodyBytes)
                .onErrorMap(DataBufferLimitException.class, e -> tooLarge())
                .switchIfEmpty(Mono.error(() -> invalidJson("the body is empty")))
                .map(this::parse);
    }

    private RequestFields parse(DataBuffer body) {
        try (InputStream bytes = body.asInputStream(true)) {
            JsonNode tree = json.readTree(bytes);
            return RequestFields.ofBody(tree);
        } catch (JacksonException e) {
            var at = e.getLocation();
            throw invalidJson("the body is not JSON that can be read: " + e.getOriginalMessage()
                    + (at == null ? "" : " (line " + at.getLineNr() + ", column " + at.getColumnNr() + ")"));
        } catch (IOException e) {
            throw new IllegalStateException("a body in memory could not be read", e);
        }
    }

    private static void refuseOtherThanPlainJson(HttpHeaders headers) {
        String encoding = headers.getFirst(HttpHeaders.CONTENT_ENCODING);
        if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
            throw unsupported("content-encoding '" + encoding + "' is not supported, send the body as it is");
        }
        String type = headers.getFirst(HttpHeaders.CONTENT_TYPE);
        try {
            if (type != null && MediaType.APPLICATION_JSON.equalsTypeAndSubtype(MediaType.parseMediaType(type))) {
                return;
            }
        } catch (InvalidMediaTypeException e) {
            // said below with the value
        }
        throw unsupported("content-type is " + (type == null ? "missing" : "'" + type + "'")
                + ", it must be application/json");
    }

    private BadRequestException tooLarge() {
        return new BadRequestException(Fault.BODY_TOO_LARGE, null,
                "the body is longer than " + maxBodyBytes + " bytes");
    }

    private static BadRequestException unsupported(String message) {
        return new BadRequestException(Fault.UNSUPPORTED_MEDIA_TYPE, null, message);
    }

    private static BadRequestException invalidJson(String message) {
        return new BadRequestException(Fault.INVALID_JSON, null, message);
    }
}
