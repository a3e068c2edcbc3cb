package adjourn

import (
	"encoding/json"
	"mime"
	"strings"
)

const contentType = "content-type"

const (
	typeText = "text/plain; charset=utf-8"
	typeJSON = "application/json"
)

// Codec turns values into bodies and back.
type Codec interface {
	// ContentType is the header of the bodies that it makes.
	ContentType() string
	Marshal(value any) ([]byte, error)
	Unmarshal(body []byte, into any) error
}

// JSON is the codec that is used unless [UseCodec] says otherwise.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) ContentType() string                   { return typeJSON }
func (jsonCodec) Marshal(value any) ([]byte, error)     { return json.Marshal(value) }
func (jsonCodec) Unmarshal(body []byte, into any) error { return json.Unmarshal(body, into) }

// encodeBody returns the bytes of a body and its content type. Bytes go as they are, without a content type; so does
// nothing at all.
func encodeBody(codec Codec, body any) ([]byte, string, error) {
	switch body := body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return body, "", nil
	case string:
		return []byte(body), typeText, nil
	case json.RawMessage:
		return body, typeJSON, nil
	case NewJob, *NewJob, []NewJob, EditOption, []PushOption, []EditOption:
		return nil, "", usage("a %T is no body: use PushBatch for a NewJob, and give options after the body", body)
	}
	encoded, err := codec.Marshal(body)
	if err != nil {
		return nil, "", usage("the body cannot be encoded as %s: %v", codec.ContentType(), err)
	}
	return encoded, codec.ContentType(), nil
}

// decodeBody is the way back. *[]byte and *string take any body as it is.
func decodeBody(codec Codec, header string, body []byte, into any) error {
	switch into := into.(type) {
	case *[]byte:
		*into = append([]byte(nil), body...)
		return nil
	case *string:
		*into = string(body)
		return nil
	}
	if sameType(header, codec.ContentType()) {
		return codec.Unmarshal(body, into)
	}
	if header == "" || sameType(header, typeJSON) {
		return JSON.Unmarshal(body, into)
	}
	return usage("a body of the content type %q: decode it from job.Body", header)
}

func sameType(a, b string) bool {
	x, _, errX := mime.ParseMediaType(a)
	y, _, errY := mime.ParseMediaType(b)
	return errX == nil && errY == nil && strings.EqualFold(x, y)
}
