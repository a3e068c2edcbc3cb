package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.wire.Elements;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Opcode;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Everything that the schema has can be reached through the public API. */
class CompletenessTest {
    /** The request that no call sends: only tools and consoles need it. */
    private static final String WITHOUT_CALL = "RESERVE_JOB";

    /** A value for each type of a parameter. */
    private static final Map<Class<?>, Object> SAMPLES = Map.of(long.class, 7L, int.class, 1, boolean.class, true, String.class, "sample",
            byte[].class, new byte[] {1}, Duration.class, Duration.ofSeconds(5), Instant.class, Instant.ofEpochMilli(5), Due.class, Due.NOW,
            Backoff.class, Backoff.fixed(Duration.ofSeconds(1)), TopicPolicy.Late.class, new TopicPolicy.Late(1, 2, 0));

    @Test
    void everySettingIsSetAndRead() throws Exception {
        for (SchemaTables.Named setting : SchemaTables.SETTINGS) {
            String name = setting.name().equals("body_max") ? "bodyBytesMax" : camel(setting.name());
            TopicPolicy policy = (TopicPolicy) call(TopicPolicy.EMPTY, TopicPolicy.class, name);
            assertTags(setting, policy.encode());
            assertShown(setting, TopicPolicy.class.getMethod(name).invoke(TopicPolicy.decode(policy.encode())));
            TopicPolicy.Setting named = Arrays.stream(TopicPolicy.Setting.values()).filter(one -> one.tag() == setting.number())
                    .findFirst().orElseThrow(() -> new AssertionError(setting.name()));
            assertTrue(policy.has(named) && policy.without(named).takesAway(named), setting.name());
        }
        assertEquals(SchemaTables.SETTINGS.size(), TopicPolicy.Setting.values().length);
    }

    @Test
    void everyAttributeIsSetAndRead() throws Exception {
        for (SchemaTables.Named attribute : SchemaTables.ATTRIBUTES) {
            boolean isHeader = attribute.name().equals("headers");
            String name = camel(attribute.name());
            Attributes attributes = isHeader ? Attributes.NONE.withHeader("a", "b")
                    : (Attributes) call(Attributes.NONE, Attributes.class, "with" + name.substring(0, 1).toUpperCase() + name.substring(1));
            assertTags(attribute, attributes.encode());
            Object shown = Attributes.class.getMethod(name).invoke(Attributes.decode(attributes.encode()));
            assertShown(attribute, isHeader ? ((List<?>) shown).stream().findFirst() : shown);
        }
    }

    @Test
    void everyConditionIsSet() throws Exception {
        for (SchemaTables.Named condition : SchemaTables.CONDITIONS) {
            String name = condition.name().equals("reason") ? "reasonContains" : camel(condition.name());
            assertTags(condition, ((Filter) call(Filter.ALL, Filter.class, name)).encode());
        }
    }

    @Test
    void everyErrorHasATypeAndSaysWhatToDo() {
        for (SchemaTables.Named error : SchemaTables.ERRORS) {
            ErrorCode code = ErrorCode.valueOf(error.name());
            assertEquals(error.number(), code.number());
            assertEquals(code, ErrorCode.of(code.number()));
            assertFalse(code.meaning().isEmpty() || code.remedy().isEmpty(), error.name());
            AdjournException thrown = ServerException.ofRequest(code.number(), false, Applied.NO, 0, "x");
            assertEquals(error.name(), thrown.code());
            assertFalse(thrown instanceof ServerException.Unknown, error.name());
        }
        assertEquals(SchemaTables.ERRORS.size() + 1, ErrorCode.values().length);
    }

    @Test
    void everyLimitIsAConstant() throws ReflectiveOperationException {
        for (SchemaTables.Named limit : SchemaTables.LIMITS) {
            assertEquals(limit.number(), Limits.class.getField(limit.name()).getLong(null), limit.name());
        }
    }

    @Test
    void everyChoiceThatCallersSeeHasItsNumber() {
        assertChoices(SchemaTables.IF_EXISTS, IfExists::valueOf, IfExists::number);
        assertChoices(SchemaTables.ORDER, ListOrder::valueOf, ListOrder::number);
        assertChoices(SchemaTables.STATE, JobState::valueOf, JobState::number);
        assertChoices(SchemaTables.APPLIED, Applied::valueOf, Applied::number);
        assertChoices(SchemaTables.LATE_ACTION, TopicPolicy.LateAction::valueOf, TopicPolicy.LateAction::number);
        assertChoices(SchemaTables.BURIED, name -> BuriedReason.valueOf(name.replace("CONSUMER", "BY_CONSUMER")), BuriedReason::number);
        assertChoices(SchemaTables.DST, ScheduleRules.Dst::valueOf, ScheduleRules.Dst::number);
        assertChoices(SchemaTables.MISSED, ScheduleRules.Missed::valueOf, ScheduleRules.Missed::number);
        assertChoices(SchemaTables.OVERLAP, ScheduleRules.Overlap::valueOf, ScheduleRules.Overlap::number);
        assertChoices(SchemaTables.PAUSED, ScheduleState.Paused::valueOf, ScheduleState.Paused::number);
        assertChoices(SchemaTables.WHY, Why::valueOf, Why::number);
        assertChoices(SchemaTables.FIRED, Firing.Outcome::valueOf, Firing.Outcome::number);
        for (SchemaTables.Named outcome : SchemaTables.OUTCOME) {
            assertEquals(outcome.name().toUpperCase(), PushResult.Outcome.of((int) outcome.number()).name());
        }
        for (SchemaTables.Named role : SchemaTables.ROLE) {
            assertEquals(role.name().toUpperCase(), ClusterReport.Role.of((int) role.number()).name());
        }
        List<BulkChange> changes = List.of(BulkChange.DELETE, BulkChange.KICK, BulkChange.RUN_NOW, BulkChange.reschedule(Instant.EPOCH),
                BulkChange.moveTo("t"));
        assertEquals(SchemaTables.CHANGE.stream().map(one -> (int) one.number()).toList(), changes.stream().map(BulkChange::number).toList());
        Duration wait = Duration.ofSeconds(1);
        List<Backoff> backoffs = List.of(Backoff.fixed(wait), Backoff.linear(wait, wait), Backoff.exponential(wait, wait), Backoff.list(wait));
        assertEquals(SchemaTables.BACKOFF_KIND.stream().map(one -> (int) one.number()).toList(), backoffs.stream().map(Backoff::kind).toList());
    }

    private static <T> void assertChoices(List<SchemaTables.Named> choices, Function<String, T> constant, Function<T, Integer> number) {
        for (SchemaTables.Named choice : choices) {
            assertEquals(choice.number(), (long) number.apply(constant.apply(choice.name().toUpperCase())), choice.name());
        }
    }

    @Test
    void everyCountOfATopicIsShown() throws IOException {
        Consumer<FrameWriter> topics = body -> body.list(86, 1).u8(1).u32(-1).u64(2).u8(1).u64(3).u64(4).u64(5).u64(6).u64(7).u64(8).u64(9)
                .u64(10).u64(11).raw(new byte[] {'t'});
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.send(Opcode.TOPIC_COUNTS, peer.next(Opcode.TOPICS).id(), topics);
            peer.send(Opcode.QUEUE_STATS, peer.next(Opcode.STATS).id(), body -> topics.accept(body.raw(new byte[60 + 72])));
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            Totals totals = new Totals(3, 4, 5, 6, 7, 8, 9, 10, Duration.ofMillis(11));
            List<TopicInfo> shown = List.of(new TopicInfo("t", true, 0xffff_ffffL, Duration.ofMillis(2), totals));
            assertEquals(shown, client.topics());
            assertEquals(shown, client.stats().topics());
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void everyRequestIsSent() throws IOException {
        try (TestServer server = new TestServer(); FrameRecorder recorder = new FrameRecorder(server.port)) {
            Client client = Client.builder().address(recorder.address()).connect();
            Map<String, Consumer<Client>> calls = calls(recorder);
            for (SchemaTables.Named request : SchemaTables.REQUESTS) {
                Consumer<Client> call = calls.get(request.name());
                if (request.name().equals(WITHOUT_CALL)) {
                    assertNull(call);
                    continue;
                }
                assertNotNull(call, "no call of the public API sends " + request.name());
                if (request.name().equals("GOODBYE")) {
                    continue;
                }
                try {
                    call.accept(client);
                } catch (ServerException | BackupLostException refused) {
                    assertTrue(recorder.hasSeen(request.name()), request.name() + ": " + refused);
                }
                Await.until(request.name() + " is sent", () -> recorder.hasSeen(request.name()));
            }
            calls.get("GOODBYE").accept(client);
            assertTrue(recorder.hasSeen("GOODBYE"));
        }
    }

    /** A call for each request that sends it; what the server says does not matter. */
    private static Map<String, Consumer<Client>> calls(FrameRecorder recorder) {
        List<Lease> leases = List.of(new Lease(1, 1));
        JobRef job = JobRef.id(1);
        Map<String, Consumer<Client>> calls = new HashMap<>();
        calls.put("HELLO", Client::isConnected);
        calls.put("PING", Client::ping);
        calls.put("GOODBYE", Client::close);
        calls.put("PUSH", client -> client.push("t", NewJob.text("x")));
        calls.put("RESERVE", client -> client.reserve("none", 1, Duration.ZERO));
        calls.put("SUBSCRIBE", client -> client.subscribe("none", 1));
        calls.put("CREDIT", client -> client.subscribe("none", 1).credit(1, 1));
        calls.put("UNSUBSCRIBE", client -> client.subscribe("none", 1).close());
        calls.put("CANCEL", client -> {
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("none")), 1, Duration.ofMinutes(1));
            // The answer shows that what was asked before is on the wire.
            client.ping();
            waiting.cancel(false);
        });
        calls.put("LEASES", Client::leases);
        calls.put("FINISH", client -> client.finish(leases));
        calls.put("RELEASE", client -> client.release(leases, Release.parked(Duration.ofSeconds(1)), ""));
        calls.put("TOUCH", client -> client.touch(leases));
        calls.put("BURY", client -> client.bury(leases, "why"));
        calls.put("GET", client -> client.get(job));
        calls.put("DELETE", client -> client.delete(JobRef.id(99)));
        calls.put("RESCHEDULE", client -> client.reschedule(job, Due.NOW, 1));
        calls.put("EDIT", client -> client.edit(job, Edit.EMPTY.priority(1), 1));
        calls.put("RUN_NOW", client -> client.runNow(job));
        calls.put("KICK", client -> client.kick(job));
        calls.put("PEEK", client -> client.peek("t"));
        calls.put("KICK_MANY", client -> client.kickMany("t", 1));
        calls.put("LIST", client -> client.list(Filter.ALL).count());
        calls.put("COUNT", client -> client.count(Filter.ALL));
        calls.put("BULK", client -> client.bulk(BulkChange.KICK, Filter.ALL).count());
        calls.put("PAUSE", client -> client.pause("t"));
        calls.put("RESUME", client -> client.resume("t"));
        calls.put("TOPICS", Client::topics);
        calls.put("STATS", Client::stats);
        calls.put("CONNECTIONS", Client::connections);
        calls.put("DISCONNECT", client -> client.disconnect(999_999, true));
        calls.put("ADVANCE", Client::advanceToNext);
        calls.put("TOPIC_SET", client -> client.setTopic("t", TopicPolicy.EMPTY.priority(1)));
        calls.put("TOPIC_DELETE", client -> client.deleteTopic("t"));
        calls.put("TOPIC_SHOW", client -> client.topicSettings("t"));
        calls.put("BACKUP_BEGIN", Client::backup);
        calls.put("BACKUP_READ", client -> client.backup().read(0, 1));
        calls.put("BACKUP_END", client -> client.backup().close());
        calls.put("CLUSTER_STATUS", Client::clusterStatus);
        calls.put("CLUSTER_ADD", client -> client.async().clusterAdd("127.0.0.1:1"));
        calls.put("CLUSTER_REMOVE", client -> client.async().clusterRemove(99));
        calls.put("CLUSTER_TRANSFER", client -> client.async().clusterTransfer(99));
        calls.put("GROUP_SET", client -> client.setGroup("t", "g", GroupChange.EMPTY.weight(2)));
        calls.put("GROUP_LIST", client -> client.groups("t"));
        calls.put("WHY", client -> client.why(job));
        calls.put("TOPIC_WHY", client -> client.whyTopic("t"));
        calls.put("SCHEDULE_SET", client -> client.setSchedule("t", "s", ScheduleRules.of("@daily"), JobTemplate.text("x")));
        calls.put("SCHEDULE_SHOW", client -> client.schedule("t", "s"));
        calls.put("SCHEDULE_LIST", client -> client.schedules("t"));
        calls.put("SCHEDULE_DELETE", client -> client.deleteSchedule("t", "s"));
        calls.put("SCHEDULE_PAUSE", client -> client.pauseSchedule("t", "s", "why"));
        calls.put("SCHEDULE_RESUME", client -> client.resumeSchedule("t", "s"));
        calls.put("SCHEDULE_RUN", client -> client.runSchedule("t", "s"));
        calls.put("SCHEDULE_FILL", client -> client.fillSchedule("t", "s", Instant.EPOCH, Instant.EPOCH, true));
        calls.put("SCHEDULE_PREVIEW", client -> client.previewSchedule(ScheduleRules.of("@daily"), 1));
        return calls;
    }

    // ---- elements

    /** Calls the method of this name that has one parameter, with a sample. */
    private static Object call(Object object, Class<?> type, String name) throws IllegalAccessException, InvocationTargetException {
        Method method = Arrays.stream(type.getMethods())
                .filter(one -> one.getName().equals(name) && one.getParameterCount() == 1 && SAMPLES.containsKey(one.getParameterTypes()[0]))
                .findFirst().orElseThrow(() -> new AssertionError(type.getSimpleName() + " has no " + name));
        return method.invoke(object, SAMPLES.get(method.getParameterTypes()[0]));
    }

    private static void assertTags(SchemaTables.Named element, byte[] bytes) throws MalformedFrameException {
        assertEquals(List.of((int) element.number()), Elements.decode(bytes).all().stream().map(Elements.Element::tag).toList(),
                element.name());
    }

    private static void assertShown(SchemaTables.Named element, Object shown) {
        assertTrue(shown.equals(true) || shown instanceof Optional<?> optional && optional.isPresent(), element.name());
    }

    /** The name in Java, without the unit. */
    private static String camel(String name) {
        StringBuilder camel = new StringBuilder();
        for (String word : name.replaceAll("_ms$", "").split("_")) {
            camel.append(camel.isEmpty() ? word : word.substring(0, 1).toUpperCase() + word.substring(1));
        }
        return camel.toString();
    }
}
