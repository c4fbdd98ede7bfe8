package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Every refusal names the field and the limit, in OpenAI's shape, and no worker is asked. */
class BadInputTest extends RunningRouter {

    private static final String CHAT = "{'model':'tiny','messages':[{'role':'user','content':'Hi'}]%s}";
    private static final String TEXT = "{'model':'tiny','prompt':'Hi'%s}";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        # ---- unserved, by name
        ,'tools':[{'type':'function'}]       | missing_value         | tools[0].function   | 'tools[0].function' is missing
        ,'tools':[{'type':'function','function':{'name':'f'}}] | unsupported_parameter | tools | 'tools' is not supported by the model 'tiny': its chat template shows no known way
        ,'tools':[{'function':{'name':'f'}}] | missing_value         | tools[0].type       | 'tools[0].type' is missing
        ,'tools':[{'type':'web_search'}]     | unsupported_parameter | tools[0].type       | 'tools[0].type' is 'web_search', only function is supported
        ,'tools':[{'type':'function','function':{}}] | missing_value | tools[0].function.name | 'tools[0].function.name' is missing
        ,'tools':[{'type':'function','function':[]}] | invalid_value | tools[0].function   | 'tools[0].function' must be an object
        ,'tools':[{'type':'function','function':{'name':'a b'}}] | invalid_value | tools[0].function.name | 'tools[0].function.name' is 'a b', a name has 1 to 64 letters, digits, '_', '-' and '.'
        ,'tools':{}                          | invalid_value         | tools               | 'tools' must be an array, not an object
        ,'tools':[7]                         | invalid_value         | tools[0]            | 'tools[0]' must be an object, not an integer
        ,'tool_choice':'required'            | unsupported_parameter | tool_choice         | the model cannot be made to call a tool
        ,'tool_choice':{'type':'function','function':{'name':'f'}} | unsupported_parameter | tool_choice | the model cannot be made to call a tool
        ,'cache_salt':''                     | invalid_value         | cache_salt          | 'cache_salt' has 0 characters, 1 to 1024 are taken
        ,'cache_salt':'\\ud800'               | invalid_value         | cache_salt          | 'cache_salt' has half a character in it
        ,'cache_salt':1                      | invalid_value         | cache_salt          | 'cache_salt' must be a string, not an integer
        ,'tool_choice':'any'                 | invalid_value         | tool_choice         | 'tool_choice' is 'any', it must be "auto" or "none"
        ,'chat_template_kwargs':[]           | invalid_value         | chat_template_kwargs | 'chat_template_kwargs' must be an object, not an array
        ,'reasoning_effort':3                | invalid_value         | reasoning_effort    | 'reasoning_effort' must be a string, not an integer
        ,'add_generation_prompt':true,'continue_final_message':true | invalid_value | continue_final_message | are both true
        ,'tool_choice':'required'            | unsupported_parameter | tool_choice         | 'tool_choice' is not supported
        ,'functions':[{'name':'f'}]          | unsupported_parameter | functions           | 'functions' is not supported
        ,'response_format':{'type':'json_object'} | unsupported_parameter | response_format | 'response_format' is not supported
        ,'top_logprobs':2                    | invalid_value         | top_logprobs        | 'top_logprobs' is only taken with 'logprobs': true
        ,'logprobs':true,'top_logprobs':21   | invalid_value         | top_logprobs        | 'top_logprobs' is 21, it must be at least 0 and at most 20
        ,'n':129                             | invalid_value         | n                   | 'n' is 129, it must be at least 1 and at most 128
        ,'priority':0.5                      | invalid_value         | priority            | 'priority' must be an integer
        ,'echo':true                         | unsupported_parameter | echo                | 'echo' is not supported (other than false)
        ,'structured_outputs':{}             | unsupported_parameter | structured_outputs  | 'structured_outputs' is not supported
        ,'store':true                        | unsupported_parameter | store               | 'store' is not supported (other than false)
        ,'service_tier':'flex'               | unsupported_parameter | service_tier        | 'service_tier' is not supported
        # ---- unknown
        ,'temprature':0                      | unknown_parameter     | temprature          | 'temprature' is not a known field
        ,'stream':true,'stream_options':{'inclde_usage':true} | unknown_parameter | stream_options.inclde_usage | 'stream_options.inclde_usage' is not a known field
        # ---- wrong type or range
        ,'temperature':'hot'                 | invalid_value         | temperature         | 'temperature' must be a number, not a string
        ,'temperature':2.5                   | invalid_value         | temperature         | 'temperature' is 2.5, which is outside 0 to 2
        ,'temperature':-0.1                  | invalid_value         | temperature         | 'temperature' is -0.1, which is outside 0 to 2
        ,'top_p':0                           | invalid_value         | top_p               | 'top_p' is 0, it must be above 0 and at most 1
        ,'top_p':1.01                        | invalid_value         | top_p               | 'top_p' is 1.01, which is outside 0 to 1
        ,'top_k':-2                          | invalid_value         | top_k               | 'top_k' is -2, it must be at least -1
        ,'top_k':1.5                         | invalid_value         | top_k               | 'top_k' must be an integer, not a number with a fraction
        ,'seed':9223372036854775808          | invalid_value         | seed                | 'seed' is 9223372036854775808, which does not fit into 64 bits
        ,'max_tokens':0                      | invalid_value         | max_tokens          | 'max_tokens' is 0, it must be at least 1
        ,'max_tokens':-5                     | invalid_value         | max_tokens          | 'max_tokens' is -5, it must be at least 1
        ,'max_tokens':99999999999            | invalid_value         | max_tokens          | 'max_tokens' is 99999999999, it must be at least 1 and at most 2147483647
        ,'max_completion_tokens':1.5         | invalid_value         | max_completion_tokens | 'max_completion_tokens' must be an integer
        ,'stream':'yes'                      | invalid_value         | stream              | 'stream' must be true or false, not a string
        ,'stream_options':{'include_usage':true} | invalid_value     | stream_options      | 'stream_options' is only taken with 'stream': true
        ,'stream':true,'stream_options':{'include_usage':1} | invalid_value | stream_options.include_usage | 'stream_options.include_usage' must be true or false, not an integer
        ,'stop':''                           | invalid_value         | stop                | 'stop' has 0 characters, 1 to 256 are taken
        ,'stop':['a',7]                      | invalid_value         | stop[1]             | 'stop[1]' must be a string, not an integer
        ,'stop':['1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17'] | invalid_value | stop | 'stop' has 17 strings, at most 16 are taken
        ,'stop_token_ids':[-1]               | invalid_value         | stop_token_ids[0]   | 'stop_token_ids[0]' is -1, it must be at least 0
        ,'stop_token_ids':[5,483]            | invalid_value         | stop_token_ids[1]   | 'stop_token_ids[1]' is 483, the model's token ids are 0 to 482
        ,'logit_bias':{'5':101}              | invalid_value | logit_bias          | 'logit_bias' has for token 5 no number of -100 to 100
        ,'logit_bias':{'x':1}                | invalid_value | logit_bias          | 'logit_bias' names 'x', which is no token id
        ,'logit_bias':{'-1':1}               | invalid_value | logit_bias          | 'logit_bias' names '-1', which is no token id
        ,'logit_bias':{'+5':1}               | invalid_value | logit_bias          | 'logit_bias' names '+5', which is no token id
        ,'logit_bias':{'٥':1}                | invalid_value | logit_bias          | 'logit_bias' names '٥', which is no token id
        ,'logit_bias':{'2147483648':1}       | invalid_value | logit_bias          | 'logit_bias' names '2147483648', which is no token id
        ,'logit_bias':{'00000000005':'x'}    | invalid_value | logit_bias          | 'logit_bias' names '00000000005', which is no token id
        ,'logit_bias':{'5':1,'05':1}         | invalid_value | logit_bias          | 'logit_bias' names token 5 twice
        ,'logit_bias':{'99999':1}            | invalid_value | logit_bias          | 'logit_bias' is 99999, the model's token ids are 0 to
        ,'presence_penalty':2.5              | invalid_value | presence_penalty    | 'presence_penalty' is 2.5, which is outside -2 to 2
        ,'frequency_penalty':-3              | invalid_value | frequency_penalty   | 'frequency_penalty' is -3, which is outside -2 to 2
        ,'repetition_penalty':0              | invalid_value | repetition_penalty  | 'repetition_penalty' is 0, which is outside 0.01 to 2
        ,'min_p':1.5                         | invalid_value | min_p               | 'min_p' is 1.5, which is outside 0 to 1
        ,'allowed_token_ids':[]              | invalid_value | allowed_token_ids   | 'allowed_token_ids' is empty
        ,'allowed_token_ids':[1,99999]       | invalid_value | allowed_token_ids[1] | 'allowed_token_ids[1]' is 99999, the model's token ids are 0 to
        ,'bad_words':['ok',' ']              | invalid_value | bad_words[1]        | 'bad_words[1]' has 0 tokens, 1 to 256 are taken
        ,'max_tokens':2,'min_tokens':3       | invalid_value | min_tokens          | 'min_tokens' is 3, the answer has at most 2 tokens
        ,'user':5                            | unsupported_parameter | user                | 'user' is not supported (other than a string)
        # ---- too long
        ,'max_tokens':62                     | context_length_exceeded | max_tokens        | This model's maximum context length is 64 tokens. The prompt has
        """)
    void a_bad_field_of_a_chat_is_refused(String fields, String code, String param, String message) {
        join("w0");

        assertRefused(post("/v1/chat/completions", CHAT.formatted(fields)), 400, code, param, message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {'messages':[{'role':'user','content':'a'}]}     | missing_value | model | 'model' is missing
        {'model':7,'messages':[{'role':'user','content':'a'}]} | invalid_value | model | 'model' must be a string, not an integer
        {'model':'tiny'}                                 | missing_value | messages | 'messages' is missing
        {'model':'tiny','messages':null}                 | missing_value | messages | 'messages' is missing
        {'model':'tiny','messages':[]}                   | invalid_value | messages | 'messages' has 0 elements, 1 to 4096 are taken
        {'model':'tiny','messages':'Hi'}                 | invalid_value | messages | 'messages' must be an array, not a string
        {'model':'tiny','messages':['Hi']}               | invalid_value | messages[0] | 'messages[0]' must be an object, not a string
        {'model':'tiny','messages':[{'content':'a'}]}    | missing_value | messages[0].role | 'messages[0].role' is missing
        {'model':'tiny','messages':[{'role':'user'}]}    | missing_value | messages[0].content | 'messages[0].content' is missing
        {'model':'tiny','messages':[{'role':'pirate','content':'a'}]} | invalid_value | messages[0].role | 'messages[0].role' is 'pirate', served are
        {'model':'tiny','messages':[{'role':'user','content':5}]} | invalid_value | messages[0].content | must be a string or an array of text parts, not an integer
        {'model':'tiny','messages':[{'role':'user','content':[{'type':'image_url','image_url':{}}]}]} | unsupported_parameter | messages[0].content[0].type | 'messages[0].content[0].type' is 'image_url', only text is supported
        {'model':'tiny','messages':[{'role':'user','content':[{'image_url':{'url':'a'},'type':'image_url'}]}]} | unsupported_parameter | messages[0].content[0].image_url | 'messages[0].content[0].image_url' is not supported
        {'model':'tiny','messages':[{'role':'user','content':[{'type':'text','text':7}]}]} | invalid_value | messages[0].content[0].text | 'messages[0].content[0].text' must be a string, not an integer
        {'model':'tiny','messages':[{'role':'user','content':'a','name':7}]} | invalid_value | messages[0].name | 'messages[0].name' must be a string, not an integer
        {'model':'tiny','messages':[{'role':'assistant'}]} | missing_value | messages[0].content | 'messages[0].content' is missing
        {'model':'tiny','messages':[{'role':'assistant','tool_calls':[{}]}]} | missing_value | messages[0].tool_calls[0].type | 'messages[0].tool_calls[0].type' is missing
        {'model':'tiny','messages':[{'role':'assistant','tool_calls':[{'type':'function','function':{'arguments':'{}'}}]}]} | missing_value | messages[0].tool_calls[0].function.name | is missing
        {'model':'tiny','messages':[{'role':'user','tool_calls':[{'type':'function','function':{'name':'f'}}]}]} | missing_value | messages[0].content | 'messages[0].content' is missing
        {'model':'tiny','messages':[{'role':'user','content':'a','reasoning_content':1}]} | invalid_value | messages[0].reasoning_content | must be a string, not an integer
        {'model':'tiny','messages':[{'role':'user','content':'a','mood':1}]} | unknown_parameter | messages[0].mood | 'messages[0].mood' is not a known field
        """)
    void bad_messages_are_refused(String body, String code, String param, String message) {
        join("w0");

        assertRefused(post("/v1/chat/completions", body), 400, code, param, message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {'model':'tiny'}                          | missing_value | prompt    | 'prompt' is missing
        {'model':'tiny','prompt':[]}              | invalid_value | prompt    | 'prompt' is empty
        {'model':'tiny','prompt':{}}              | invalid_value | prompt    | 'prompt' must be a string, an array of token ids, or an array of such, not an object
        {'model':'tiny','prompt':['a',[1,483]]}   | invalid_value | prompt[1][1] | 'prompt[1][1]' is 483, the model's token ids are 0 to 482
        {'model':'tiny','prompt':['a',7]}         | invalid_value | prompt[1] | 'prompt[1]' must be an array of integers, not an integer
        {'model':'tiny','prompt':[[1],[]]}        | invalid_value | prompt[1] | the prompt has no tokens
        {'model':'tiny','prompt':[5,-1]}          | invalid_value | prompt[1] | 'prompt[1]' is -1, it must be at least 0
        {'model':'tiny','prompt':[5,'a']}         | invalid_value | prompt[1] | 'prompt[1]' must be an integer, not a string
        {'model':'tiny','prompt':[5,483]}         | invalid_value | prompt[1] | 'prompt[1]' is 483, the model's token ids are 0 to 482
        {'model':'tiny','prompt':'a','n':2,'best_of':1} | invalid_value | best_of | 'best_of' is 1, below 'n', which is 2
        {'model':'tiny','prompt':'a','suffix':'b'}| unsupported_parameter | suffix  | 'suffix' is not supported
        {'model':'tiny','prompt':'a','max_tokens':0} | invalid_value | max_tokens | 'max_tokens' is 0, it must be at least 1 without 'echo': true
        """)
    void a_bad_text_request_is_refused(String body, String code, String param, String message) {
        join("w0");

        assertRefused(post("/v1/completions", body), 400, code, param, message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {'model':'tiny'              | invalid_json
        ``                           | invalid_json
        nothing                      | invalid_json
        []                           | invalid_json
        'text'                       | invalid_json
        {'model':'a','model':'b'}    | invalid_json
        {'model':'tiny'} {}          | invalid_json
        {'model':NaN}                | invalid_json
        """)
    void what_is_not_one_json_object_is_refused(String body, String code) {
        HttpResponse<String> response = post("/v1/completions", body);

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(json(response).path("error").path("code").asString()).isEqualTo(code);
    }

    @Test
    void json_nested_deeper_than_64_is_refused() {
        HttpResponse<String> response = post(
                "/v1/completions", "{'metadata':{'deep':" + "[".repeat(100) + "]".repeat(100) + "}}");

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(json(response).path("error").path("message").asString()).contains("depth", "64");
    }

    @Test
    void a_prompt_as_long_as_the_context_is_refused_with_both_numbers() {
        join("w0");
        String ids = "10,".repeat(63) + "10";

        assertRefused(post("/v1/completions", "{'model':'tiny','prompt':[%s]}".formatted(ids)), 400,
                "context_length_exceeded", "prompt",
                "This model's maximum context length is 64 tokens. The prompt has 64, and the answer needs one at least");
    }

    @Test
    void one_token_less_leaves_room_for_one() throws Exception {
        FakeWorker worker = join("w0");

        post("/v1/completions", "{'model':'tiny','prompt':[%s]}".formatted("10,".repeat(62) + "10"));

        assertThat(worker.requests().take().stop().maxTokens()).isEqualTo(1);
    }

    @Test
    void an_unknown_model_is_404_where_others_are_served_and_503_where_none_is() {
        HttpResponse<String> early = post("/v1/completions", "{'model':'big','prompt':'a'}");
        join("w0");
        HttpResponse<String> late = post("/v1/completions", "{'model':'big','prompt':'a'}");

        assertThat(early.statusCode()).isEqualTo(503);
        assertThat(json(early).path("error").path("code").asString()).isEqualTo("no_worker_available");
        assertThat(early.headers().firstValue("retry-after")).hasValue("2");
        assertRefused(late, 404, "model_not_found", "model", "the model 'big' is not served here; served are 'tiny'");
    }

    @Test
    void a_model_whose_last_worker_has_gone_is_503_and_not_unknown() {
        join("w0");
        loseLease(joinWithModel("last", "rolled"));

        HttpResponse<String> answer = post("/v1/completions", "{'model':'rolled','prompt':'a'}");

        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(json(answer).path("error").path("code").asString()).isEqualTo("no_worker_available");
        assertThat(answer.headers().firstValue("retry-after")).hasValue("2");
    }

    @Test
    void a_bad_stream_request_is_refused_with_a_status_not_with_an_event() {
        join("w0");

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'stream':true,'max_tokens':500"));

        assertThat(response.headers().firstValue("content-type")).hasValue("application/json");
        assertThat(response.headers().firstValue("cache-control")).isEmpty();
        assertRefused(response, 400, "context_length_exceeded", "max_tokens", "asks for 500 more");
    }

    @Test
    void a_body_over_16_mebibytes_is_413_before_it_is_sent() throws IOException {
        assertThat(rawPost("content-length: " + ((16 << 20) + 1), new byte[0]))
                .startsWith("HTTP/1.1 413").contains("body_too_large", "the body is longer than 16777216 bytes");
    }

    @Test
    void who_asks_for_the_connection_to_be_closed_and_sends_20_mebibytes_gets_the_413() throws IOException {
        try (Socket client = new Socket("127.0.0.1", uri("/").getPort())) {
            client.getOutputStream().write(("POST /v1/completions HTTP/1.1\r\nhost: r\r\nconnection: close\r\n"
                    + "content-type: application/json\r\ncontent-length: " + (20 << 20) + "\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            for (int i = 0; i < 20; i++) {
                client.getOutputStream().write(new byte[1 << 20]);
            }

            assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 413").contains("body_too_large", "the body is longer than 16777216 bytes");
        }
    }

    @Test
    void who_sends_20_mebibytes_before_reading_gets_the_413() throws IOException {
        byte[] body = new byte[20 << 20];
        Arrays.fill(body, (byte) ' ');
        var client = (HttpURLConnection) uri("/v1/completions").toURL().openConnection();
        client.setDoOutput(true);
        client.setRequestProperty("content-type", "application/json");
        client.setFixedLengthStreamingMode(body.length);
        client.getOutputStream().write(body);

        assertThat(client.getResponseCode()).isEqualTo(413);
        assertThat(client.getHeaderField("connection")).isNull();
        assertThat(new String(client.getErrorStream().readAllBytes(), StandardCharsets.UTF_8))
                .contains("body_too_large");
    }

    @Test
    void a_body_of_unknown_length_over_the_limit_is_413_too() throws IOException {
        byte[] chunk = new byte[(16 << 20) + 1];
        Arrays.fill(chunk, (byte) ' ');
        var body = new ByteArrayOutputStream();
        body.writeBytes((Integer.toHexString(chunk.length) + "\r\n").getBytes(StandardCharsets.US_ASCII));
        body.writeBytes(chunk);

        assertThat(rawPost("transfer-encoding: chunked", body.toByteArray()))
                .startsWith("HTTP/1.1 413").contains("body_too_large", "the body is longer than 16777216 bytes");
    }

    /** Over a plain socket: a client that goes on sending after the answer may never see it. */
    private String rawPost(String lengthHeader, byte[] body) throws IOException {
        URI uri = uri("/v1/completions");
        try (var socket = new Socket(uri.getHost(), uri.getPort())) {
            var out = socket.getOutputStream();
            out.write(("POST /v1/completions HTTP/1.1\r\nhost: router\r\ncontent-type: application/json\r\n"
                    + lengthHeader + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            out.write(body);
            var answer = new StringBuilder();
            var in = socket.getInputStream();
            while (answer.indexOf("}}") < 0) {
                int next = in.read();
                if (next < 0) {
                    break;
                }
                answer.append((char) next);
            }
            return answer.toString();
        }
    }

    @Test
    void a_request_id_with_a_space_or_of_129_characters_is_replaced() {
        for (String id : new String[] {"with space", "a".repeat(129)}) {
            HttpResponse<String> response = send(
                    HttpRequest.newBuilder(uri("/v1/models")).header("x-request-id", id).build());

            assertThat(response.headers().firstValue("x-request-id").orElseThrow()).isNotEqualTo(id).hasSize(32);
        }
    }

    @Test
    void the_management_port_keeps_its_own_error_bodies() {
        assertThat(management("/nowhere").body()).doesNotContain("invalid_request_error");
    }

    private static void assertRefused(
            HttpResponse<String> response, int status, String code, String param, String message) {
        JsonNode error = json(response).path("error");
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(error.propertyNames()).containsExactly("message", "type", "param", "code");
        assertThat(error.path("type").asString()).isEqualTo("invalid_request_error");
        assertThat(error.path("code").asString()).isEqualTo(code);
        assertThat(error.path("param").isNull() ? null : error.path("param").asString()).isEqualTo(param);
        assertThat(error.path("message").asString()).contains(message);
    }
}
