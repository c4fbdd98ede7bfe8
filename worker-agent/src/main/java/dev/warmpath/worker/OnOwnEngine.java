package dev.warmpath.worker;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;

/** On what is there only where this worker computes the model itself. {@link OnForeignEngine} is the opposite. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ConditionalOnProperty(name = "warmpath.engine.kind", havingValue = "own", matchIfMissing = true)
public @interface OnOwnEngine {}
