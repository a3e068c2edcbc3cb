<?php
// Writes php_conditions.txt: what php-delayqueue makes of a reply under a condition (its column re_notify_flag).
//
//     php php_conditions.php > php_conditions.txt
//
// It needs PHP 5.5 to 7.4, on which php-delayqueue runs. PHP 8 compares numbers with texts differently, and its
// is_resource() is false for sockets, so php-delayqueue does not run on it.

if (PHP_MAJOR_VERSION > 7) {
    fwrite(STDERR, "this is PHP " . PHP_VERSION . ": use PHP 5 or 7\n");
    exit(1);
}
error_reporting(0);

// An empty reply is tried again; one that is no object or list is done; else the condition is evaluated as PHP.
function outcome($condition, $reply)
{
    if (!$reply) {
        return 'retry';
    }
    $res = json_decode($reply, true);
    if (!is_array($res)) {
        return 'done';
    }
    $code = preg_replace_callback('/\{\s*(res\..+?)\s*\}/', function ($found) {
        $names = array_slice(explode('.', $found[1]), 1);
        return '$res["' . implode('"]["', $names) . '"]';
    }, $condition);
    return eval("return $code;") ? 'retry' : 'done';
}

function write($condition, $reply)
{
    echo $condition, "\t", $reply, "\t", outcome($condition, $reply), "\n";
}

$values = [
    null, 'null', 'true', 'false', '0', '1', '200', '-1', '1.0', '1.5', '0.0', '1e3', '9007199254740993',
    '9223372036854775808', '""', '" "', '"0"', '"1"', '"00"', '"0.0"', '"200"', '" 200"', '"200 "', '"200.0"', '"2e2"',
    '"200abc"', '"abc"', '"ABC"', '"false"', '"true"', '"null"', '"成功"', '[]', '[0]', '[1,2]', '{"a":1}',
];
$constants = [
    '0', '1', '200', '1.5', '-1', '1e3', '9007199254740992', "''", '""', "'0'", "'1'", "'200'", '"200.0"', "'abc'", "'成功'",
    "' '", 'true', 'false', 'null',
];
$reply = function ($value) {
    return $value === null ? '{"other":1}' : '{"code":' . $value . '}';
};

echo '# Condition, reply, outcome. Written by php_conditions.php on PHP ', PHP_VERSION, ".\n";
foreach ($constants as $constant) {
    foreach ($values as $value) {
        write("{res.code}==$constant", $reply($value));
    }
}
foreach (["0", "200", "'abc'", "''", 'true', 'false', 'null', "'200'"] as $constant) {
    foreach ($values as $value) {
        write("{res.code} != $constant", $reply($value));
    }
}
foreach (['<', '<=', '>', '>='] as $relation) {
    foreach (['0', "'200'", "'abc'", 'null', 'true'] as $constant) {
        foreach ($values as $value) {
            write("{res.code} $relation $constant", $reply($value));
        }
    }
}

// Replies that are no object or list.
foreach (['', '0', '00', ' ', '5', '"text"', 'true', 'null', 'ok', '<html>', '{"code":200', '{"code":1}x', '[', '[]', '{}'] as $reply) {
    foreach (['{res.code}!=200', '{res.code}==200', "{res.code}==''", '{res.success}==false', '1==1'] as $condition) {
        write($condition, $reply);
    }
}

// The conditions of its README, and what people make of them.
$conditions = [
    '{res.code}!=200', '{res.code}!=200 && {res.data.status}!=2', "{res.code}==200 && {res.data.status}==2 || {res.data.msg}=='返回失败'",
    '{res.success}==false', '{res.success} != true', "{res.code}==''", "{res.data.msg} == 'it\\'s'", '{res.data.msg}=="a\\"b"',
    '{res.data.list.0}==1', '{res.data.list.1}==null', '{res.data.list.01}==null', '{res.data.msg.ok}==\'r\'', '{res.data.msg.1}==\'e\'',
    '{res.data.msg.-1}==\'y\'', '{res.code.a}==null', '{ res.code } == 200', '{res.code} <> 200',
    '({res.code}==200 || {res.code}==201) && {res.data.status}>1', '{res.code}=={res.data.status}', '{res.data.list}=={res.data.other}',
    '{res.data}==true', '{res.data} == null', '{res.data.msg} < {res.code}', 'null == {res.data.status}', "'2' == {res.data.status}",
    '{res.code}==200&&{res.data.status}==2', '{res.code} == +200', '{res.code} == .2e3', 'TRUE == {res.success}', "{res.data.msg}=='a\\\\b'",
];
$replies = [
    '{"code":200,"data":{"status":2,"msg":"返回失败"}}', '{"code":200,"data":{"status":"2","msg":"retry"}}',
    '{"code":"200","success":true,"data":{"status":0,"msg":""}}', '{"code":500,"success":false,"data":null}',
    '{"code":0,"success":0,"data":[]}', '{"success":"false"}', '{"success":"0","data":{"msg":"it\'s"}}', '[200]', '[]',
    '{"code":null,"data":"retry"}', '{"code":"ok","data":{"list":[1,2],"other":{"0":1,"1":2}}}', '{"code":201,"data":{"status":3,"list":[]}}',
    '{"code":[],"data":{"status":[1],"list":[1,2],"other":[1,3]}}', '{"code":"","data":{"status":"","msg":"a\\"b"}}',
    '{"code":1.0,"data":{"status":1,"msg":"a\\\\b"}}', '{"code":true,"data":{"status":"x","list":[1,2],"other":[1,2]}}',
    '{"code":2,"code":200,"data":{"list":{"0":"1"}}}',
];
foreach ($conditions as $condition) {
    foreach ($replies as $reply) {
        write($condition, $reply);
    }
}
