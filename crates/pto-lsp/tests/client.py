"""Drives `pto lsp` with the client of pygls, and with raw bytes where a client would be too well-behaved.

Called with the path of the binary. Prints one line per check, then `N passed, M failed`.
"""

import asyncio
import json
import subprocess
import sys
import time

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

PTO = sys.argv[1]
URI = "file:///kernel.pto"
passed = failed = 0

# A value that nothing defines, behind a tab and a character of two code units on its line.
WRONG = """\
// a clef 𝄞 and a tab\there
module attributes {pto.target_arch = "a5"} {
  func.func @k(%rows: index) attributes {pto.note = "𝄞"} {\t%sum = arith.addi %rows, %nowhere : index
    return
  }
}
"""

RIGHT = """\
!tile = !pto.tile_buf<vec, 8x32xf32, valid=8x30>
!index = !pto.tile_buf<vec, 1x8xi32>
module attributes {pto.target_arch = "a5"} {
  func.func @k(%p: !pto.ptr<f32>, %q: !pto.ptr<i32>) {
    %a0 = arith.constant 0 : i64
    %a1 = arith.constant 0x1000 : i64
    %src = pto.alloc_tile addr = %a0 : !tile
    %idx = pto.alloc_tile addr = %a1 : !index
    %table = pto.make_tensor_view %p, shape = [64, 30], strides = [30, 1] : !pto.tensor_view<64x30xf32>
    %list = pto.make_tensor_view %q, shape = [1, 8], strides = [8, 1] : !pto.tensor_view<1x8xi32>
    pto.tload ins(%list : !pto.tensor_view<1x8xi32>) outs(%idx : !index)
    pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
    pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
    pto.mgather ins(%table, %idx : !pto.tensor_view<64x30xf32>, !index) outs(%src : !tile) {coalesce = #pto<coalesce row>, gatherOob = #pto<gather_oob zero>}
    return
  }
}
"""


def check(name, condition, detail=""):
    global passed, failed
    if condition:
        passed += 1
        print(f"ok    {name}")
    else:
        failed += 1
        print(f"FAIL  {name}: {detail}")


def position(text, needle, nth=0, encoding="utf-16-le"):
    """Where the n-th occurrence of a word begins, counted as the protocol does."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(needle, at + 1)
    line = text.count("\n", 0, at)
    before = text[text.rfind("\n", 0, at) + 1 : at]
    units = len(before.encode(encoding)) // (2 if encoding == "utf-16-le" else 1)
    return lsp.Position(line=line, character=units)


class Editor:
    """A document in an editor: a client, and what the server said last."""

    def __init__(self):
        self.client = LanguageClient("pto-test", "1")
        self.published = asyncio.Queue()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: lsp.PublishDiagnosticsParams):
            self.published.put_nowait(params)

    async def start(self, encodings=None, related=True):
        await self.client.start_io(PTO, "lsp")
        capabilities = lsp.ClientCapabilities(
            general=lsp.GeneralClientCapabilities(position_encodings=encodings),
            text_document=lsp.TextDocumentClientCapabilities(
                hover=lsp.HoverClientCapabilities(content_format=[lsp.MarkupKind.Markdown]),
                document_symbol=lsp.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
                publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(related_information=related),
            ),
        )
        result = await self.client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
        self.client.initialized(lsp.InitializedParams())
        return result

    def open(self, text, version=1, uri=URI):
        item = lsp.TextDocumentItem(uri=uri, language_id="pto", version=version, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def change(self, version, *changes):
        document = lsp.VersionedTextDocumentIdentifier(uri=URI, version=version)
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=document, content_changes=list(changes))
        )

    async def diagnostics(self, version):
        """The findings of one version; those of older ones are passed over."""
        while True:
            params = await asyncio.wait_for(self.published.get(), 60)
            if params.version == version:
                return params.diagnostics

    async def hover(self, at):
        document = lsp.TextDocumentIdentifier(uri=URI)
        return await self.client.text_document_hover_async(lsp.HoverParams(text_document=document, position=at))

    async def definition(self, at):
        document = lsp.TextDocumentIdentifier(uri=URI)
        params = lsp.DefinitionParams(text_document=document, position=at)
        return await self.client.text_document_definition_async(params)

    async def leave(self):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        return await asyncio.wait_for(self.client._server.wait(), 30)


def whole(text):
    return lsp.TextDocumentContentChangeWholeDocument(text=text)


def part(start, end, text):
    return lsp.TextDocumentContentChangePartial(range=lsp.Range(start=start, end=end), text=text)


async def session():
    editor = Editor()
    result = await editor.start()
    check("utf-16 is the default", result.capabilities.position_encoding == "utf-16", result.capabilities)

    # Diagnostics: where, which rule, with help and the other place.
    editor.open(WRONG)
    found = await editor.diagnostics(1)
    codes = [one.code for one in found]
    check("an undefined value is found", codes == ["type.undefined"], found)
    start = position(WRONG, "%nowhere")
    expected = lsp.Range(start=start, end=lsp.Position(line=start.line, character=start.character + 8))
    check("at its place", found[0].range == expected, found[0].range)
    check("as an error, with help", found[0].severity == 1 and "help:" in found[0].message, found[0])

    # Two incremental changes, each behind a character of two units.
    clef = position(WRONG, " and a tab")
    after = lsp.Position(line=clef.line, character=clef.character + 4)
    editor.change(2, part(clef, after, "!"), part(start, expected.end, "%rows"))
    found = await editor.diagnostics(2)
    check("a change removes it", not found, found)
    text = WRONG.replace(" and", "!", 1).replace("%nowhere", "%rows")
    end = position(text, "return")
    editor.change(3, part(end, end, "%rows = arith.addi %rows, %rows : index\n    "))
    found = await editor.diagnostics(3)
    related = found[0].related_information if found else None
    first = position(text, "%rows")
    check("a second definition shows the first", related and related[0].location.range.start == first, found)

    # Many changes at once: only the last has to be judged, and is judged right.
    text = ""
    editor.change(10, whole(""))
    began = time.monotonic()
    for at, char in enumerate(RIGHT):
        line, column = text.count("\n"), len(text) - text.rfind("\n") - 1
        place = lsp.Position(line=line, character=column)
        editor.change(11 + at, part(place, place, char))
        text += char
    found = await editor.diagnostics(10 + len(RIGHT))
    check("a program typed letter by letter is clean", not found, found)
    check("and soon so", time.monotonic() - began < 60, time.monotonic() - began)

    # Hover.
    hover = await editor.hover(position(RIGHT, "%src : !tile"))
    words = hover.contents.value
    check("hover on a tile: its size", "1024 bytes" in words and "valid: 8 x 30" in words, words)
    check("hover on a tile: its order", "r * 128 + c * 4" in words, words)
    check("hover on a tile: its place", "0x0 to 0x400" in words, words)
    check("hover names its range", hover.range.start == position(RIGHT, "%src : !tile"), hover.range)
    words = (await editor.hover(position(RIGHT, "!tile)"))).contents.value
    check("hover on a type: its layout", "8x32" in words and "1024 bytes" in words, words)
    words = (await editor.hover(position(RIGHT, "pto.mgather"))).contents.value
    check("hover on an operation: what and where", "MGATHER" in words and "PIPE_V" in words and "a2a3" in words, words)
    words = (await editor.hover(position(RIGHT, "gatherOob"))).contents.value
    check("hover on an attribute", "outside the table" in words and "zero" in words, words)
    words = (await editor.hover(position(RIGHT, "PIPE_MTE2"))).contents.value
    check("hover on a pipe", "loads from global memory" in words, words)
    words = (await editor.hover(position(RIGHT, "%a1 = "))).contents.value
    check("hover on a constant", "4096" in words, words)
    check("hover on nothing", await editor.hover(lsp.Position(line=9999, character=0)) is None)

    # Definitions.
    found = await editor.definition(position(RIGHT, "%idx", 2))
    check("definition of a value", found and found.range.start == position(RIGHT, "%idx"), found)
    found = await editor.definition(position(RIGHT, "!index)"))
    check("definition of an alias", found and found.range.start == position(RIGHT, "!index"), found)
    found = await editor.definition(position(RIGHT, "@k"))
    check("definition of a function", found and found.range.start == position(RIGHT, "@k"), found)

    # Outline and completion.
    document = lsp.TextDocumentIdentifier(uri=URI)
    symbols = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(text_document=document))
    names = [symbol.name for symbol in symbols]
    check("outline", names == ["!tile", "!index", "module"] and symbols[2].children[0].name == "@k", names)
    end = position(RIGHT, "mgather")
    items = await editor.client.text_document_completion_async(
        lsp.CompletionParams(text_document=document, position=lsp.Position(line=end.line, character=end.character + 2))
    )
    check("completion", "pto.mgather" in [item.label for item in items], items)

    # A rule broken: found, and explained under the cursor.
    broken = RIGHT.replace("1x8xi32>\nmodule", "1x9xi32>\nmodule")
    version = 20_000
    editor.change(version, whole(broken))
    found = await editor.diagnostics(version)
    check("a broken rule has its name", found and all("." in one.code for one in found), found)
    words = (await editor.hover(found[0].range.start)).contents.value
    check("hover explains it", found[0].code in words and "Specification" in words, words)

    # Formatting.
    messy = RIGHT.replace("    %src = pto.alloc_tile addr = %a0 : !tile", "  %src=pto.alloc_tile   addr=%a0:!tile")
    editor.change(version + 1, whole(messy))
    options = lsp.FormattingOptions(tab_size=2, insert_spaces=True)
    params = lsp.DocumentFormattingParams(text_document=document, options=options)
    edits = await editor.client.text_document_formatting_async(params)
    check("one small edit formats", len(edits) == 1 and edits[0].range.start.line == 6, edits)
    lines = messy.split("\n")
    first, last = edits[0].range.start.line, edits[0].range.end.line
    formatted = "\n".join(lines[:first]) + "\n" + edits[0].new_text + "\n".join(lines[last:])
    check("to the canonical text", formatted == RIGHT, formatted)
    editor.change(version + 2, whole(RIGHT))
    edits = await editor.client.text_document_formatting_async(params)
    check("which needs no edit", edits is not None and not edits, edits)
    editor.change(version + 3, whole(RIGHT + "pto.tload ins("))
    edits = await editor.client.text_document_formatting_async(params)
    check("a broken text is left alone", edits is None, edits)

    # What the server does not know.
    try:
        await editor.client.protocol.send_request_async("pto/nothing", {})
        check("an unknown method is refused", False)
    except JsonRpcException as error:
        check("an unknown method is refused", error.code == -32601, error)
    try:
        await editor.client.text_document_hover_async(
            lsp.HoverParams(text_document=lsp.TextDocumentIdentifier(uri="file:///other"), position=end)
        )
        check("a document that is not open is refused", False)
    except JsonRpcException as error:
        check("a document that is not open is refused", error.code == -32602, error)

    editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(text_document=document))
    while True:
        params = await asyncio.wait_for(editor.published.get(), 60)
        if params.version is None:
            break
    check("closing clears what was found", not params.diagnostics, params)
    check("an orderly exit has code 0", await editor.leave() == 0)


async def utf8_session():
    editor = Editor()
    result = await editor.start([lsp.PositionEncodingKind.Utf8, lsp.PositionEncodingKind.Utf16], related=False)
    check("utf-8 is agreed on", result.capabilities.position_encoding == "utf-8", result.capabilities)
    text = 'module attributes {note = "𝄞é"} { func.func @k() { pto.tlod } }\r\n'
    editor.open(text)
    found = await editor.diagnostics(1)
    at = [one for one in found if one.code == "unsupported.op"]
    check("columns are bytes", at and at[0].range.start == position(text, "pto.tlod", encoding="utf-8"), found)
    check("every target agrees, so it is said once", len(at) == 1 and "did you mean" in at[0].message, found)

    # A few megabytes, and a change in the middle of them.
    line = "    %c{} = arith.constant {} : index // é\n"
    body = "".join(line.format(at, at) for at in range(80_000))
    large = "func.func @k() {\n" + body + "    return\n}\n"
    began = time.monotonic()
    editor.open(large, 5)
    found = await editor.diagnostics(5)
    check("a large file is judged", not found, found[:3])
    for step in range(50):
        place = lsp.Position(line=40_000, character=4)
        editor.change(6 + step, part(place, place, "%"))
    found = await editor.diagnostics(55)
    took = time.monotonic() - began
    check("so are fifty changes of it", found and found[0].range.start.line == 40_000, found[:3])
    check(f"in good time ({len(large) / 1e6:.1f} MB, {took:.1f} s)", took < 60, took)
    check("an orderly exit has code 0 again", await editor.leave() == 0)


def raw(*bodies, timeout=30):
    """Sends bytes as they are; gives the answers and the exit code."""
    frames = [body if isinstance(body, bytes) else frame(json.dumps(body)) for body in bodies]
    done = subprocess.run([PTO, "lsp"], input=b"".join(frames), capture_output=True, timeout=timeout)
    answers, rest = [], done.stdout
    while rest:
        head, rest = rest.split(b"\r\n\r\n", 1)
        length = int(head.split(b":")[1])
        answers.append(json.loads(rest[:length]))
        rest = rest[length:]
    return answers, done.returncode, done.stderr


def frame(text):
    data = text.encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


def rough():
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    stop = [{"jsonrpc": "2.0", "id": 9, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]

    def codes(answers):
        return [answer.get("error", {}).get("code") for answer in answers]

    hover = {"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": {}}
    answers, code, _ = raw(hover, start, hover, start, *stop)
    check("order of a session", codes(answers) == [-32002, None, -32602, -32600, None] and code == 0, (answers, code))
    answers, code, _ = raw(start, stop[0], hover, stop[1])
    check("nothing after shutdown", codes(answers) == [None, None, -32600] and code == 0, (answers, code))
    answers, code, _ = raw(start, stop[1])
    check("exit without shutdown has code 1", code == 1, code)
    answers, code, _ = raw(start)
    check("so has a client that goes away", code == 1, code)
    answers, code, errors = raw(frame("{nonsense"), frame("[1]"), b"Garbage\r\n\r\n", start, *stop)
    # The reader refuses what it cannot read, beside the server that answers the rest.
    refused = [code for code in codes(answers) if code is not None]
    check("malformed messages are answered", refused == [-32700, -32600, -32700] and len(answers) == 5, answers)
    check("and survived without a word", code == 0 and errors == b"", (code, errors))
    bad = [
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"nothing": 1}},
        {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": []},
        {
            "jsonrpc": "2.0",
            "method": "textDocument/didChange",
            "params": {"textDocument": {"uri": "u", "version": 1}, "contentChanges": []},
        },
        {"jsonrpc": "2.0", "method": "$/whatever"},
    ]
    answers, code, errors = raw(start, *bad, *stop)
    quiet = code == 0 and errors == b""
    check("malformed notifications are passed over", codes(answers) == [None, None] and quiet, (answers, errors))


asyncio.run(session())
asyncio.run(utf8_session())
rough()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
