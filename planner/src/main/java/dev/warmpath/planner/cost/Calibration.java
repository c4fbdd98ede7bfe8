package dev.warmpath.planner.cost;

import dev.warmpath.planner.simulation.ServiceModel;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * A cost model out of what workers have measured: each part's median over those that have, and how far they lie apart.
 *
 * @param model    pairs cost what was given: workers fit a sum that is linear in tokens, in which attention's share of
 *                 a prompt is part of its tokens' times
 * @param spread   of each part, in the order of {@link #PARTS}
 * @param measured workers that have measured enough steps
 * @param workers  all that were asked
 */
public record Calibration(CostModel model, List<Spread> spread, int measured, List<WorkerCost> workers) {

    /** What workers tell. */
    public static final List<String> PARTS =
            List.of("step_micros", "prompt_token_micros", "row_micros", "context_token_nanos");

    /** A part's least, median and most over workers. */
    public record Spread(String part, double least, double median, double most) {}

    /**
     * @param source    what was asked, for the model's description
     * @param pairNanos of attention, see {@link ServiceModel}
     * @throws CostException if no worker has measured enough yet, with what to do
     */
    public static Calibration of(String source, List<WorkerCost> workers, double pairNanos) throws CostException {
        List<ServiceModel> measured = workers.stream().filter(WorkerCost::isMeasured).map(WorkerCost::service).toList();
        if (measured.isEmpty()) {
            throw new CostException(source, "none of " + workers.size() + " workers has measured enough steps yet: send"
                    + " load, such as by ./warmpath bench, and ask again");
        }
        List<Spread> spread = List.of(spread(PARTS.get(0), measured, ServiceModel::stepMicros),
                spread(PARTS.get(1), measured, ServiceModel::promptTokenMicros),
                spread(PARTS.get(2), measured, ServiceModel::rowMicros),
                spread(PARTS.get(3), measured, ServiceModel::contextTokenNanos));
        var service = new ServiceModel(spread.get(0).median(), spread.get(1).median(), pairNanos, spread.get(2)
                .median(), spread.get(3).median());
        var model = new CostModel("measured", "measured by " + measured.size() + " of " + workers.size()
                + " workers of themselves, at " + source, service, 0, 0);
        model.check(source);
        return new Calibration(model, spread, measured.size(), List.copyOf(workers));
    }

    private static Spread spread(String part, List<ServiceModel> measured, ToDoubleFunction<ServiceModel> value) {
        double[] sorted = measured.stream().mapToDouble(value).sorted().toArray();
        int middle = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        return new Spread(part, sorted[0], median, sorted[sorted.length - 1]);
    }
}
