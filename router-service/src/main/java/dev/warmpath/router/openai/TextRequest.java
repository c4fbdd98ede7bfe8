package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.FieldReader.invalid;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.CompletionRequest.ToolUse;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.fields.Place;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/completions}. */
final class TextRequest {

    private static final String ENDPOINT = "completions";

    private TextRequest() {}

    /** A prompt as the client gives it, one text or one list of token ids. */
    sealed interface Given {

        record Text(String text) implements Given {}

        record Ids(int[] ids) implements Given {}
    }

    static GenerationRequest read(FieldValues body, String requestId, RandomGenerator seeds) {
        Prompt prompt = readPrompt(body, /* addSpecialTokens */ true);
        return GenerationRequest.read(body, requestId, ENDPOINT, prompt, readLimit(body), ToolUse.NONE, seeds);
    }

    static Prompt readPrompt(FieldValues body, boolean addSpecialTokens) {
        return switch (body.required(OpenAiFields.PROMPT)) {
            case Given.Text(String text) -> new Prompt.Text(text, addSpecialTokens);
            case Given.Ids(int[] ids) -> new Prompt.Tokens(ids);
        };
    }

    static Given readGiven(FieldReader json, Place place) {
        if (json.isText()) {
            return new Given.Text(json.text());
        }
        if (!json.isList()) {
            throw json.wrongType(place, "a string or an array of token ids");
        }
        if (!json.nextElement()) {
            throw invalid(place, "'" + place + "' is empty");
        }
        return json.isText() || json.isList() ? readOnly(json, place)
                : new Given.Ids(json.idsFromHere(Integer.MAX_VALUE, place));
    }

    /** Of a list of prompts, whose first element the parser has come to. */
    private static Given readOnly(FieldReader json, Place place) {
        Given first = json.isText() ? new Given.Text(json.text())
                : new Given.Ids(json.ids(Integer.MAX_VALUE, place.element(0)));
        int count = 1;
        while (json.nextElement()) {
            json.skip();
            count++;
        }
        if (count > 1) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, place.toString(),
                    "'" + place + "' holds " + count + " prompts, one is supported");
        }
        return first;
    }

    private static OutputLimit readLimit(FieldValues body) {
        @Nullable Integer maxTokens = body.integer(OpenAiFields.MAX_TOKENS);
        return maxTokens == null
                ? new OutputLimit.AtMost(OpenAiFields.DEFAULT_MAX_TOKENS_OF_TEXT)
                : new OutputLimit.Exactly(maxTokens, OpenAiFields.MAX_TOKENS.name());
    }
}
