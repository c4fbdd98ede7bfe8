package dev.warmpath.planner.study;

/** A study as one HTML file. */
public final class StudyPage {

    private StudyPage() {}

    public static String of(StudyView study) {
        return "<pre>" + study.text() + "</pre>";
    }
}
