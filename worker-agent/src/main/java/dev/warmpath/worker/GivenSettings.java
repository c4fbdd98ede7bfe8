package dev.warmpath.worker;

import jakarta.validation.Validation;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.validation.BindValidationException;
import org.springframework.boot.context.properties.bind.validation.ValidationBindHandler;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.validation.FieldError;
import org.springframework.validation.ObjectError;
import org.springframework.validation.Validator;
import org.springframework.validation.beanvalidation.SpringValidatorAdapter;

/**
 * Settings of a worker that has no application context. As there, they are validated; unlike there, one that is wrong
 * leaves its capability null and the others readable.
 */
record GivenSettings(@Nullable ModelProperties model, @Nullable KvProperties kv,
        @Nullable SchedulerProperties scheduler, @Nullable ComputeProperties compute) {

    /** @param problems gets what is wrong */
    static GivenSettings read(ConfigurableEnvironment environment, List<Problem> problems) {
        try (var validation = Validation.buildDefaultValidatorFactory()) {
            var reading = new Reading(Binder.get(environment),
                    new SpringValidatorAdapter(validation.getValidator()), problems);
            return new GivenSettings(reading.of("model", ModelProperties.class), reading.of("kv", KvProperties.class),
                    reading.of("scheduler", SchedulerProperties.class), reading.of("compute", ComputeProperties.class));
        }
    }

    /**
     * One capability's.
     *
     * @param problems gets what is wrong
     * @return null if something is
     */
    static <T> @Nullable T read(ConfigurableEnvironment environment, String capability, Class<T> type,
            List<Problem> problems) {
        try (var validation = Validation.buildDefaultValidatorFactory()) {
            return new Reading(Binder.get(environment), new SpringValidatorAdapter(validation.getValidator()), problems)
                    .of(capability, type);
        }
    }

    private record Reading(Binder binder, Validator validator, List<Problem> problems) {

        <T> @Nullable T of(String capability, Class<T> type) {
            try {
                return binder.bindOrCreate("warmpath." + capability, Bindable.of(type),
                        new ValidationBindHandler(validator));
            } catch (BindException e) {
                problems.addAll(problems(e));
                return null;
            }
        }

        private static List<Problem> problems(BindException e) {
            return switch (reason(e)) {
                case SettingsException contradiction -> contradiction.problems();
                case BindValidationException invalid -> invalid.getValidationErrors().getAllErrors().stream()
                        .map(error -> problem(invalid.getValidationErrors().getName().toString(), error)).toList();
                case Throwable other -> List.of(new Problem("%s is '%s', which cannot be read: %s".formatted(
                        e.getName(), e.getProperty() == null ? "" : e.getProperty().getValue(), other.getMessage()), ""));
            };
        }

        private static Throwable reason(Throwable e) {
            Throwable reason = e;
            while (reason.getCause() != null && !(reason instanceof SettingsException)) {
                reason = reason.getCause();
            }
            return reason;
        }

        private static Problem problem(String capability, ObjectError error) {
            return new Problem(error instanceof FieldError field
                    ? "%s.%s is %s, but it %s".formatted(capability,
                            DataObjectPropertyName.toDashedForm(field.getField()), field.getRejectedValue(),
                            field.getDefaultMessage())
                    : capability + ": " + error.getDefaultMessage(), "");
        }
    }
}
