// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

/** The opcodes of the protocol. */
public enum Opcode {
    /** Opens the conversation; the first frame on every connection. */
    HELLO(0x01),
    /** Asks for a PONG. */
    PING(0x02),
    /** Ends the session: its leases are given back at once (unless they outlive it). */
    GOODBYE(0x03),
    /** Adds jobs to one topic. */
    PUSH(0x10),
    /** Long-poll: waits for jobs of some topics. */
    RESERVE(0x20),
    /** Asks for jobs to be sent as they become ready. */
    SUBSCRIBE(0x21),
    /** Adds credit to a subscription. */
    CREDIT(0x22),
    /** Ends a subscription; jobs already sent stay leased. */
    UNSUBSCRIBE(0x23),
    /** Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none. */
    CANCEL(0x24),
    /**
     * Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among them.
     */
    LEASES(0x25),
    /** Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back. */
    RESERVE_JOB(0x26),
    /** Says that jobs are done: they are removed. */
    FINISH(0x30),
    /** Gives jobs back, to be attempted again. */
    RELEASE(0x31),
    /** Starts the time to run anew. */
    TOUCH(0x32),
    /** Sets jobs aside until somebody kicks them. */
    BURY(0x33),
    /** Reads one job. */
    GET(0x40),
    /** Removes one job, whatever its state. */
    DELETE(0x41),
    /** Gives one delayed or ready job a new due time; a buried one is kicked first. */
    RESCHEDULE(0x42),
    /** Makes one delayed job ready at once. */
    RUN_NOW(0x43),
    /** Makes one buried job ready. */
    KICK(0x44),
    /** Reads the next job of a topic without reserving it: the first ready one, else the first delayed. */
    PEEK(0x45),
    /** Makes buried jobs of a topic ready: by priority, then by when they were due, then by id. */
    KICK_MANY(0x46),
    /** Shows jobs, a page at a time. */
    LIST(0x47),
    /** Counts the jobs that match, all together or by when they are due. */
    COUNT(0x48),
    /** Does the same to many jobs, a bounded number with each request. */
    BULK(0x49),
    /** Changes parts of one delayed, ready or buried job. */
    EDIT(0x4a),
    /** Stops the reserving of a topic's jobs. */
    PAUSE(0x50),
    /** Starts it again. */
    RESUME(0x51),
    /** Counts by topic. */
    TOPICS(0x52),
    /** Counts of the whole queue, and by topic. */
    STATS(0x53),
    /** Lists the clients that are connected to this node, by number. */
    CONNECTIONS(0x54),
    /** Closes the connection of another client to this node. */
    DISCONNECT(0x55),
    /** Changes what a topic decides for its jobs. The topic is made if it is new. */
    TOPIC_SET(0x56),
    /** Forgets a topic that has no jobs, with its settings. */
    TOPIC_DELETE(0x57),
    /** Reads what a topic decides for its jobs. */
    TOPIC_SHOW(0x58),
    /** Moves the clock of a server for tests. Answered when everything that is due by then is carried out. */
    ADVANCE(0x59),
    /** Asks for a backup of the state as it is now, to be read over this connection. */
    BACKUP_BEGIN(0x60),
    /** Reads a part of that backup. */
    BACKUP_READ(0x61),
    /** Lets go of it. The end of the connection does the same. */
    BACKUP_END(0x62),
    /** Says when a schedule with these rules would fire, without setting it. */
    SCHEDULE_PREVIEW(0x6f),
    /**
     * Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for anything else.
     */
    CLUSTER_STATUS(0x70),
    /** Adds the node that listens for its peers at an address; it votes when it has caught up. */
    CLUSTER_ADD(0x71),
    /** Removes a member. It cannot come back under its number. */
    CLUSTER_REMOVE(0x72),
    /** Hands leadership to another member. */
    CLUSTER_TRANSFER(0x73),
    /** Changes the settings of one group. With weight 1 and not paused it has none. */
    GROUP_SET(0x74),
    /** Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name. */
    GROUP_LIST(0x75),
    /** Says why a job is not running. */
    WHY(0x76),
    /** Says why a topic, or one of its groups, gives no job. */
    TOPIC_WHY(0x77),
    /** Creates a schedule, or gives the one of this name another content. The topic is made if it is new. */
    SCHEDULE_SET(0x78),
    /** Reads one schedule, and what it did of late. */
    SCHEDULE_SHOW(0x79),
    /**
     * Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the order in
     * which they were made.
     */
    SCHEDULE_LIST(0x7a),
    /** Forgets a schedule. Its jobs stay. */
    SCHEDULE_DELETE(0x7b),
    /** Lets a schedule fire no more until it is resumed. */
    SCHEDULE_PAUSE(0x7c),
    /** Lets a paused schedule fire again. missed says what happens to the instants that passed. */
    SCHEDULE_RESUME(0x7d),
    /** Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays. */
    SCHEDULE_RUN(0x7e),
    /**
     * Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic has a job
     * with the key of the instant.
     */
    SCHEDULE_FILL(0x7f),
    /** The answer to HELLO. */
    WELCOME(0x81),
    /** The answer to PING: at some moment after it was sent this node led, and the session was connected to it. */
    PONG(0x82),
    /** It is done. */
    DONE(0x83),
    /** Unasked, under request id 0: the server is about to close the connection. */
    GOING_AWAY(0x84),
    /** The outcomes of a PUSH: one per job, in order. */
    PUSHED(0x90),
    /** The jobs of a RESERVE; none when the wait was over first. */
    RESERVED(0xa0),
    /** The answer to SUBSCRIBE. Jobs follow as DELIVER. */
    SUBSCRIBED(0xa1),
    /** Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session. */
    DELIVER(0xa2),
    /** A page of the leases that the session holds. */
    LEASED(0xa3),
    /** The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order. */
    SETTLED(0xb0),
    /** One job as it stands. */
    JOB(0xc0),
    /** One job was changed. */
    CHANGED(0xc1),
    /** Jobs were kicked. */
    KICKED(0xc2),
    /** A page of jobs. */
    JOBS(0xc3),
    /** How many jobs match. */
    COUNTED(0xc4),
    /** How many jobs were changed. */
    BULKED(0xc5),
    /** Counts by topic. */
    TOPIC_COUNTS(0xd0),
    /** Counts of the queue. */
    QUEUE_STATS(0xd1),
    /** Clients' connections. */
    CONNECTION_LIST(0xd2),
    /** A topic's policy. */
    TOPIC_SETTINGS(0xd3),
    /** A backup can be read. */
    BACKUP_READY(0xe0),
    /** A part of a backup. */
    BACKUP_DATA(0xe1),
    /** When a schedule would fire. */
    INSTANTS(0xef),
    /** The members of the cluster, as one node sees them. */
    CLUSTER_REPORT(0xf0),
    /** A page of groups. */
    GROUPS(0xf5),
    /** Why a job, a topic or a group gives nothing to a consumer. */
    REASONS(0xf6),
    /** A schedule is set. */
    SCHEDULED(0xf8),
    /** One schedule as it stands. */
    SCHEDULE(0xf9),
    /** A page of schedules. */
    SCHEDULES(0xfa),
    /** A schedule pushed a job. */
    SCHEDULE_RAN(0xfb),
    /** A part of a time that has passed is filled, or counted. */
    SCHEDULE_FILLED(0xfc),
    /** The request failed as a whole. */
    ERROR(0xff);

    private static final Opcode[] BY_NUMBER = new Opcode[256];

    static {
        for (Opcode opcode : values()) {
            BY_NUMBER[opcode.number] = opcode;
        }
    }

    private final int number;

    Opcode(int number) {
        this.number = number;
    }

    public int number() {
        return number;
    }

    /** The opcode of this number, or {@code null} if a newer peer uses one that this client does not know. */
    public static Opcode of(int number) {
        return BY_NUMBER[number & 0xff];
    }
}
