// Stands in for a package that comes from Maven alone: the generated code names this annotation, and nothing reads it.
package javax.annotation;

public @interface Generated {
  String[] value();

  String date() default "";

  String comments() default "";
}
