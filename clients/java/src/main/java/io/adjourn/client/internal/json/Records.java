package io.adjourn.client.internal.json;

import io.adjourn.client.UsageException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Turns what {@link JsonReader} read into records and other typed values, and reads the fields of records. */
final class Records {
    private Records() {
    }

    static Object read(Record record, RecordComponent component) {
        try {
            Method accessor = component.getAccessor();
            accessor.setAccessible(true);
            return accessor.invoke(record);
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new UsageException("the record " + record.getClass().getName() + " cannot be read", e);
        }
    }

    static Object convert(Object value, Type type) {
        if (type instanceof ParameterizedType generic) {
            return convertGeneric(value, generic);
        }
        if (!(type instanceof Class<?> wanted)) {
            return value;
        }
        if (value == null) {
            if (wanted.isPrimitive()) {
                throw new UsageException("null, or nothing, where a " + wanted + " is wanted");
            }
            return null;
        }
        if (wanted == Object.class || wanted.isInstance(value) && !(value instanceof Number)) {
            return value;
        }
        if (wanted.isRecord() && value instanceof Map<?, ?> map) {
            return build(wanted, map);
        }
        if (wanted == boolean.class && value instanceof Boolean) {
            return value;
        }
        if (value instanceof Number number) {
            return number(number, wanted);
        }
        if (value instanceof String text) {
            return text(text, wanted);
        }
        throw new UsageException("a JSON value is no " + wanted.getName());
    }

    private static Object convertGeneric(Object value, ParameterizedType type) {
        Type[] arguments = type.getActualTypeArguments();
        if (value instanceof List<?> list && ((Class<?>) type.getRawType()).isAssignableFrom(List.class)) {
            List<Object> items = new ArrayList<>();
            list.forEach(item -> items.add(convert(item, arguments[0])));
            return items;
        }
        if (value instanceof Map<?, ?> map && ((Class<?>) type.getRawType()).isAssignableFrom(Map.class)) {
            Map<Object, Object> entries = new LinkedHashMap<>();
            map.forEach((key, item) -> entries.put(key, convert(item, arguments[1])));
            return entries;
        }
        if (value == null) {
            return null;
        }
        throw new UsageException("a JSON value is no " + type.getTypeName());
    }

    private static Object build(Class<?> type, Map<?, ?> map) {
        RecordComponent[] components = type.getRecordComponents();
        Object[] arguments = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            arguments[i] = convert(map.get(components[i].getName()), components[i].getGenericType());
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
            constructor.setAccessible(true);
            return constructor.newInstance(arguments);
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new UsageException("the record " + type.getName() + " cannot be made", e);
        }
    }

    private static Object number(Number number, Class<?> wanted) {
        try {
            BigDecimal exact = new BigDecimal(number.toString());
            if (wanted == long.class || wanted == Long.class) {
                return exact.longValueExact();
            } else if (wanted == int.class || wanted == Integer.class) {
                return exact.intValueExact();
            } else if (wanted == short.class || wanted == Short.class) {
                return exact.shortValueExact();
            } else if (wanted == byte.class || wanted == Byte.class) {
                return exact.byteValueExact();
            } else if (wanted == double.class || wanted == Double.class) {
                return exact.doubleValue();
            } else if (wanted == float.class || wanted == Float.class) {
                return exact.floatValue();
            } else if (wanted == BigDecimal.class) {
                return exact;
            } else if (wanted == BigInteger.class) {
                return exact.toBigIntegerExact();
            } else if (wanted == Number.class) {
                return number;
            }
        } catch (ArithmeticException e) {
            throw new UsageException("the JSON number " + number + " is no " + wanted.getName(), e);
        }
        throw new UsageException("a JSON number is no " + wanted.getName());
    }

    private static Object text(String text, Class<?> wanted) {
        try {
            if (wanted.isEnum()) {
                return Arrays.stream(wanted.getEnumConstants()).filter(c -> ((Enum<?>) c).name().equals(text)).findFirst()
                        .orElseThrow();
            } else if (wanted == Instant.class) {
                return Instant.parse(text);
            } else if (wanted == OffsetDateTime.class) {
                return OffsetDateTime.parse(text);
            } else if (wanted == LocalDate.class) {
                return LocalDate.parse(text);
            } else if (wanted == Duration.class) {
                return Duration.parse(text);
            } else if (wanted == UUID.class) {
                return UUID.fromString(text);
            } else if (wanted == CharSequence.class) {
                return text;
            }
        } catch (RuntimeException e) {
            throw new UsageException("the JSON text is no " + wanted.getName() + ": " + text, e);
        }
        throw new UsageException("a JSON text is no " + wanted.getName());
    }
}
