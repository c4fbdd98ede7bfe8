package dev.warmpath.router;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Which errors of the page's table a test provokes and compares as a whole, each as its status and code,
 * {@code 404 model_not_found}. The page's table has these and no others, which {@code ErrorTableTest} sees to.
 */
@Retention(RetentionPolicy.SOURCE)
@Target(ElementType.METHOD)
public @interface ErrorRow {

    String[] value();
}
