import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;

/**
 * Runs a service once while its image is built, so that the JVM notes in an AOT cache which classes a start needs:
 * starts it, waits until its page of health says that it is up, asks for some pages, and ends it as a fleet would.
 *
 * <p>{@code java Training HEALTH-URL URL... -- COMMAND...}; the command tells the JVM where to write. Exits with 1 and
 * the reason if the service did not live and end as it should. A program, for images have no shell.
 */
final class Training {

    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    /** What SIGTERM makes of a JVM that ends as it should. */
    private static final int ENDED_AS_TOLD = 143;

    public static void main(String[] arguments) throws IOException, InterruptedException {
        List<String> all = List.of(arguments);
        List<String> pages = all.subList(0, all.indexOf("--"));
        List<String> command = all.subList(pages.size() + 1, all.size());
        Process service = new ProcessBuilder(command).inheritIO().start();
        while (!isUp(pages.getFirst())) {
            if (!service.isAlive()) {
                fail("the service ended with status " + service.exitValue() + " before it was up");
            }
            Thread.sleep(200);
        }
        for (String page : pages) {
            System.out.println(page + " answers " + ask(page));
        }
        service.destroy();
        if (service.waitFor() != ENDED_AS_TOLD) {
            fail("the service ended with status " + service.exitValue() + " when it was told to");
        }
    }

    private static boolean isUp(String health) throws InterruptedException {
        try {
            return ask(health) == 200;
        } catch (IOException e) {
            return false;
        }
    }

    private static int ask(String page) throws IOException, InterruptedException {
        return CLIENT.send(HttpRequest.newBuilder(URI.create(page)).build(), BodyHandlers.discarding()).statusCode();
    }

    private static void fail(String reason) {
        System.err.println("training: " + reason);
        System.exit(1);
    }
}
