package wire

import "fmt"

// Opcode is the kind of a message. Requests are below 0x80, responses at or above.
type Opcode uint8

// The requests.
const (
	OpHello           Opcode = 0x01
	OpPing            Opcode = 0x02
	OpGoodbye         Opcode = 0x03
	OpPush            Opcode = 0x10
	OpReserve         Opcode = 0x20
	OpSubscribe       Opcode = 0x21
	OpCredit          Opcode = 0x22
	OpUnsubscribe     Opcode = 0x23
	OpCancel          Opcode = 0x24
	OpLeases          Opcode = 0x25
	OpFinish          Opcode = 0x30
	OpRelease         Opcode = 0x31
	OpTouch           Opcode = 0x32
	OpBury            Opcode = 0x33
	OpGet             Opcode = 0x40
	OpDelete          Opcode = 0x41
	OpReschedule      Opcode = 0x42
	OpRunNow          Opcode = 0x43
	OpKick            Opcode = 0x44
	OpPeek            Opcode = 0x45
	OpKickMany        Opcode = 0x46
	OpList            Opcode = 0x47
	OpCount           Opcode = 0x48
	OpBulk            Opcode = 0x49
	OpPause           Opcode = 0x50
	OpResume          Opcode = 0x51
	OpTopics          Opcode = 0x52
	OpStats           Opcode = 0x53
	OpConnections     Opcode = 0x54
	OpDisconnect      Opcode = 0x55
	OpTopicSet        Opcode = 0x56
	OpTopicDelete     Opcode = 0x57
	OpTopicShow       Opcode = 0x58
	OpBackupBegin     Opcode = 0x60
	OpBackupRead      Opcode = 0x61
	OpBackupEnd       Opcode = 0x62
	OpClusterStatus   Opcode = 0x70
	OpClusterAdd      Opcode = 0x71
	OpClusterRemove   Opcode = 0x72
	OpClusterTransfer Opcode = 0x73
)

// The responses.
const (
	OpWelcome        Opcode = 0x81
	OpPong           Opcode = 0x82
	OpDone           Opcode = 0x83
	OpGoingAway      Opcode = 0x84
	OpPushed         Opcode = 0x90
	OpReserved       Opcode = 0xA0
	OpSubscribed     Opcode = 0xA1
	OpDeliver        Opcode = 0xA2
	OpLeased         Opcode = 0xA3
	OpSettled        Opcode = 0xB0
	OpJob            Opcode = 0xC0
	OpChanged        Opcode = 0xC1
	OpKicked         Opcode = 0xC2
	OpJobs           Opcode = 0xC3
	OpCounted        Opcode = 0xC4
	OpBulked         Opcode = 0xC5
	OpTopicCounts    Opcode = 0xD0
	OpQueueStats     Opcode = 0xD1
	OpConnectionList Opcode = 0xD2
	OpTopicSettings  Opcode = 0xD3
	OpBackupReady    Opcode = 0xE0
	OpBackupData     Opcode = 0xE1
	OpClusterReport  Opcode = 0xF0
	OpError          Opcode = 0xFF
)

type kind struct {
	name  string
	empty func() Message
}

var kinds = map[Opcode]kind{
	OpHello:           {"HELLO", func() Message { return &Hello{} }},
	OpPing:            {"PING", func() Message { return &Ping{} }},
	OpGoodbye:         {"GOODBYE", func() Message { return &Goodbye{} }},
	OpPush:            {"PUSH", func() Message { return &Push{} }},
	OpReserve:         {"RESERVE", func() Message { return &Reserve{} }},
	OpSubscribe:       {"SUBSCRIBE", func() Message { return &Subscribe{} }},
	OpCredit:          {"CREDIT", func() Message { return &Credit{} }},
	OpUnsubscribe:     {"UNSUBSCRIBE", func() Message { return &Unsubscribe{} }},
	OpCancel:          {"CANCEL", func() Message { return &Cancel{} }},
	OpLeases:          {"LEASES", func() Message { return &Leases{} }},
	OpFinish:          {"FINISH", func() Message { return &Finish{} }},
	OpRelease:         {"RELEASE", func() Message { return &Release{} }},
	OpTouch:           {"TOUCH", func() Message { return &Touch{} }},
	OpBury:            {"BURY", func() Message { return &Bury{} }},
	OpGet:             {"GET", func() Message { return &Get{} }},
	OpDelete:          {"DELETE", func() Message { return &Delete{} }},
	OpReschedule:      {"RESCHEDULE", func() Message { return &Reschedule{} }},
	OpRunNow:          {"RUN_NOW", func() Message { return &RunNow{} }},
	OpKick:            {"KICK", func() Message { return &Kick{} }},
	OpPeek:            {"PEEK", func() Message { return &Peek{} }},
	OpKickMany:        {"KICK_MANY", func() Message { return &KickMany{} }},
	OpList:            {"LIST", func() Message { return &List{} }},
	OpCount:           {"COUNT", func() Message { return &Count{} }},
	OpBulk:            {"BULK", func() Message { return &Bulk{} }},
	OpPause:           {"PAUSE", func() Message { return &Pause{} }},
	OpResume:          {"RESUME", func() Message { return &Resume{} }},
	OpTopics:          {"TOPICS", func() Message { return &Topics{} }},
	OpStats:           {"STATS", func() Message { return &Stats{} }},
	OpConnections:     {"CONNECTIONS", func() Message { return &Connections{} }},
	OpDisconnect:      {"DISCONNECT", func() Message { return &Disconnect{} }},
	OpTopicSet:        {"TOPIC_SET", func() Message { return &TopicSet{} }},
	OpTopicDelete:     {"TOPIC_DELETE", func() Message { return &TopicDelete{} }},
	OpTopicShow:       {"TOPIC_SHOW", func() Message { return &TopicShow{} }},
	OpBackupBegin:     {"BACKUP_BEGIN", func() Message { return &BackupBegin{} }},
	OpBackupRead:      {"BACKUP_READ", func() Message { return &BackupRead{} }},
	OpBackupEnd:       {"BACKUP_END", func() Message { return &BackupEnd{} }},
	OpClusterStatus:   {"CLUSTER_STATUS", func() Message { return &ClusterStatus{} }},
	OpClusterAdd:      {"CLUSTER_ADD", func() Message { return &ClusterAdd{} }},
	OpClusterRemove:   {"CLUSTER_REMOVE", func() Message { return &ClusterRemove{} }},
	OpClusterTransfer: {"CLUSTER_TRANSFER", func() Message { return &ClusterTransfer{} }},

	OpWelcome:        {"WELCOME", func() Message { return &Welcome{} }},
	OpPong:           {"PONG", func() Message { return &Pong{} }},
	OpDone:           {"DONE", func() Message { return &Done{} }},
	OpGoingAway:      {"GOING_AWAY", func() Message { return &GoingAway{} }},
	OpPushed:         {"PUSHED", func() Message { return &Pushed{} }},
	OpReserved:       {"RESERVED", func() Message { return &Reserved{} }},
	OpSubscribed:     {"SUBSCRIBED", func() Message { return &Subscribed{} }},
	OpDeliver:        {"DELIVER", func() Message { return &Deliver{} }},
	OpLeased:         {"LEASED", func() Message { return &Leased{} }},
	OpSettled:        {"SETTLED", func() Message { return &Settled{} }},
	OpJob:            {"JOB", func() Message { return &Job{} }},
	OpChanged:        {"CHANGED", func() Message { return &Changed{} }},
	OpKicked:         {"KICKED", func() Message { return &Kicked{} }},
	OpJobs:           {"JOBS", func() Message { return &Jobs{} }},
	OpCounted:        {"COUNTED", func() Message { return &Counted{} }},
	OpBulked:         {"BULKED", func() Message { return &Bulked{} }},
	OpTopicCounts:    {"TOPIC_COUNTS", func() Message { return &TopicCounts{} }},
	OpQueueStats:     {"QUEUE_STATS", func() Message { return &QueueStats{} }},
	OpConnectionList: {"CONNECTION_LIST", func() Message { return &ConnectionList{} }},
	OpTopicSettings:  {"TOPIC_SETTINGS", func() Message { return &TopicSettings{} }},
	OpBackupReady:    {"BACKUP_READY", func() Message { return &BackupReady{} }},
	OpBackupData:     {"BACKUP_DATA", func() Message { return &BackupData{} }},
	OpClusterReport:  {"CLUSTER_REPORT", func() Message { return &ClusterReport{} }},
	OpError:          {"ERROR", func() Message { return &Error{} }},
}

// String is the name in protocol.md.
func (o Opcode) String() string {
	if k, known := kinds[o]; known {
		return k.name
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

// IsRequest says whether messages of this opcode go from client to server.
func (o Opcode) IsRequest() bool { return o < 0x80 }

// New returns an empty message of this opcode, or nil if this version has none.
func New(o Opcode) Message {
	if k, known := kinds[o]; known {
		return k.empty()
	}
	return nil
}

// Opcodes returns all opcodes, in no order.
func Opcodes() []Opcode {
	all := make([]Opcode, 0, len(kinds))
	for o := range kinds {
		all = append(all, o)
	}
	return all
}
