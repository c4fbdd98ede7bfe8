package dev.warmpath.chart;

/** Of files that are kept and compared: a change is looked at in the diff of a commit. */
final class Renewal {

    static final boolean IS_WANTED = Boolean.getBoolean("chart.renew");

    static final String HOW = "if that is as it should be, renew what is kept by `mvn -B -pl chart-tests -am test"
        + " -Dtest='dev.warmpath.chart.**' -Dsurefire.failIfNoSpecifiedTests=false -Dchart.renew=true` and commit it";

    private Renewal() {}
}
