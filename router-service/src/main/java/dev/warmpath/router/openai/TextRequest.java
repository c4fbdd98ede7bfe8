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
import dev.warmpath.router.openai.GenerationRequest.Own;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/completions}. */
final class TextRequest {

    private static final String ENDPOINT = "completions";

    private TextRequest() {}

    static final int MAX_PROMPTS = 128;

    /** A prompt as the client gives it, one text or one list of token ids. @param text null: it is ids */
    record Given(String place, @Nullable String text, int[] ids) {

        private static Given read(FieldReader json, Place place) {
            return json.isText() ? new Given(place.toString(), json.text(), new int[0])
                    : new Given(place.toString(), null, json.ids(Integer.MAX_VALUE, place));
        }

        Prompt prompt(boolean addSpecialTokens) {
            return text == null ? new Prompt.Tokens(place, ids) : new Prompt.Text(place, text, addSpecialTokens);
        }
    }

    static GenerationRequest read(FieldValues body, String requestId, RandomGenerator seeds) {
        List<Prompt> prompts = body.required(OpenAiFields.PROMPT).stream()
                .map(given -> given.prompt(/* addSpecialTokens */ true)).toList();
        return GenerationRequest.read(body, requestId, new Own(ENDPOINT, prompts, readLimit(body), ToolUse.NONE,
                body.integer(OpenAiFields.LOGPROBS_OF_TEXT), body.integer(OpenAiFields.BEST_OF),
                body.flag(OpenAiFields.ECHO)), seeds);
    }

    /** The only one. */
    static Prompt readPrompt(FieldValues body, boolean addSpecialTokens) {
        List<Given> prompts = body.required(OpenAiFields.PROMPT);
        if (prompts.size() > 1) {
            String place = body.path(OpenAiFields.PROMPT);
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, place,
                    "'" + place + "' holds " + prompts.size() + " prompts, one is supported here");
        }
        return prompts.getFirst().prompt(addSpecialTokens);
    }

    static List<Given> readGiven(FieldReader json, Place place) {
        if (json.isText()) {
            return List.of(Given.read(json, place));
        }
        if (!json.isList()) {
            throw json.wrongType(place, "a string, an array of token ids, or an array of such");
        }
        if (!json.nextElement()) {
            throw invalid(place, "'" + place + "' is empty");
        }
        return json.isText() || json.isList() ? readSeveral(json, place)
                : List.of(new Given(place.toString(), null, json.idsFromHere(Integer.MAX_VALUE, place)));
    }

    /** A list of prompts, whose first element the parser has come to. */
    private static List<Given> readSeveral(FieldReader json, Place place) {
        List<Given> prompts = new ArrayList<>();
        int count = 0;
        do {
            if (count < MAX_PROMPTS) {
                prompts.add(Given.read(json, place.element(count)));
            } else {
                json.skip();
            }
            count++;
        } while (json.nextElement());
        if (count > MAX_PROMPTS) {
            throw invalid(place, "'" + place + "' holds " + count + " prompts, at most " + MAX_PROMPTS + " are taken");
        }
        return prompts;
    }

    private static OutputLimit readLimit(FieldValues body) {
        @Nullable Integer maxTokens = body.integer(OpenAiFields.MAX_TOKENS_OF_TEXT);
        return maxTokens == null
                ? new OutputLimit.AtMost(OpenAiFields.DEFAULT_MAX_TOKENS_OF_TEXT)
                : new OutputLimit.Exactly(maxTokens, OpenAiFields.MAX_TOKENS_OF_TEXT.name());
    }
}
