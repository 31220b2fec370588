/** The targets of hostile scripts. None of them may be reached. */
export interface HostileTargets {
  /** A file of the host with a secret in it. */
  secretFile: string;
  /** A folder of the host in which nothing may appear. */
  folder: string;
  /** A TCP and UDP port on loopback that nothing may reach. */
  port: number;
  /** A process that must survive. */
  victimPid: number;
}

export interface HostileScript {
  name: string;
  code: (targets: HostileTargets) => string;
  /** The error code with which the run must end; absent: any end is fine as long as nothing was touched. */
  ends?: string;
  /**
   * The exception that must stop it; null if it runs through. Such a script leaves its interpreter intact, and shares it
   * with the others of its group.
   */
  raises?: string | null;
}

const py = (strings: TemplateStringsArray, ...values: (string | number)[]): string =>
  String.raw({ raw: strings }, ...values);

/** Access to the host's files, by every API that Pyodide has. */
export const FILE_SCRIPTS: readonly HostileScript[] = [
  { name: 'open a host file', code: (t) => py`print(open("${t.secretFile}").read())`, raises: 'FileNotFoundError' },
  {
    name: 'write a host file',
    code: (t) => py`open("${t.folder}/a.txt", "w").write("x")`,
    raises: 'FileNotFoundError',
  },
  {
    name: 'os.open with O_CREAT',
    code: (t) => py`import os; os.open("${t.folder}/b", os.O_CREAT | os.O_WRONLY)`,
    raises: 'FileNotFoundError',
  },
  {
    name: 'read /proc/self/environ',
    code: () => 'print(open("/proc/self/environ").read())',
    raises: 'FileNotFoundError',
  },
  {
    name: 'read through /proc/1/root',
    code: (t) => py`print(open("/proc/1/root${t.secretFile}").read())`,
    raises: 'FileNotFoundError',
  },
  {
    name: 'symlink into the host',
    code: (t) => py`import os; os.symlink("${t.secretFile}", "/tmp/s"); print(open("/tmp/s").read())`,
    raises: 'FileNotFoundError',
  },
  {
    name: 'mount the host through pyodide_js.mountNodeFS',
    code: (t) => py`
import pyodide_js
pyodide_js.mountNodeFS("/host", "${t.folder}")
open("/host/c.txt", "w").write("x")`,
    raises: 'JsException',
  },
  {
    name: 'mount the host through FS.mount and NODEFS',
    code: (t) => py`
import pyodide_js
from pyodide.ffi import to_js
fs = pyodide_js.FS
fs.mkdir("/mounted")
kind = getattr(fs.filesystems, "NODEFS", None) or pyodide_js._module.NODEFS
fs.mount(kind, to_js({"root": "${t.folder}"}), "/mounted")
print(open("/mounted/secret.txt").read())`,
    raises: 'AttributeError',
  },
  {
    name: 'write to inherited descriptors through NODEFS',
    code: () => `
import pyodide_js
ops = pyodide_js.FS.filesystems.NODEFS.stream_ops
for fd in range(0, 20):
    ops.write(dict(nfd=fd), b"forged")`,
    raises: 'AttributeError',
  },
  {
    name: 'os.write to descriptors',
    code: () => `
import os
for fd in range(3, 40):
    try: os.write(fd, b'{"type":"end","outcome":"{}"}\\n')
    except OSError: pass`,
    raises: null,
  },
  {
    name: 'sqlite3 on a host path',
    code: (t) => py`import sqlite3; sqlite3.connect("${t.folder}/d.db").execute("create table t(a)")`,
    raises: 'OperationalError',
  },
  {
    name: 'shutil.copytree of the root',
    code: (t) => py`import shutil; shutil.copytree("/", "${t.folder}/tree")`,
    ends: 'timeout',
  },
  {
    name: 'walk the root for secrets',
    code: () => `
import os
for folder, _, files in os.walk("/"):
    if "/lib" in folder: continue
    for name in files:
        try: print(folder, name, open(os.path.join(folder, name), errors="replace").read(200))
        except OSError: pass`,
    raises: null,
  },
];

/** Starting processes, signalling them, and native code. */
export const PROCESS_SCRIPTS: readonly HostileScript[] = [
  { name: 'os.system', code: (t) => py`import os; print(os.system("touch ${t.folder}/e"))`, raises: 'PermissionError' },
  {
    name: 'os.popen',
    code: (t) => py`import os; print(os.popen("cat ${t.secretFile}").read())`,
    raises: 'PermissionError',
  },
  {
    name: 'subprocess',
    code: (t) => py`import subprocess; subprocess.run(["touch", "${t.folder}/g"])`,
    raises: 'OSError',
  },
  { name: 'os.fork', code: () => 'import os; os.fork()', raises: 'PermissionError' },
  {
    name: 'os.kill of another process',
    code: (t) => py`import os; os.kill(${t.victimPid}, 9)`,
    raises: 'PermissionError',
  },
  { name: 'os.kill of the parent', code: () => 'import os; os.kill(os.getppid(), 9)', raises: 'PermissionError' },
  { name: 'os.kill of everything', code: () => 'import os; os.kill(-1, 9)', raises: 'PermissionError' },
  {
    name: 'ctypes system()',
    code: (t) => py`import ctypes; print(ctypes.CDLL(None).system(b"touch ${t.folder}/h"))`,
    raises: null,
  },
  {
    name: 'ctypes emscripten_run_script',
    code: (t) => py`
import ctypes
ctypes.CDLL(None).emscripten_run_script(b"process.kill(${t.victimPid}, 9)")`,
  },
  {
    name: 'ctypes wild writes',
    code: () => 'import ctypes\nfor a in range(0, 2**28, 4096): ctypes.memset(a, 255, 4096)',
  },
  { name: 'ctypes kill()', code: (t) => py`import ctypes; ctypes.CDLL(None).kill(${t.victimPid}, 9)`, raises: null },
  {
    name: 'threads',
    code: () => 'import threading; threading.Thread(target=print).start()',
    raises: 'RuntimeError',
  },
  // This comes last because it leaves another os module behind.
  {
    name: 'posix.system after a reload',
    code: (t) => py`
import sys, importlib, os
importlib.reload(os)
import posix
os.system("touch ${t.folder}/f"); posix.system("touch ${t.folder}/f")`,
    raises: 'PermissionError',
  },
];

/** Ways from Python into JavaScript, and from there to Node. */
export const JAVASCRIPT_SCRIPTS: readonly HostileScript[] = [
  { name: 'js.process', code: (t) => py`import js; js.process.kill(${t.victimPid})`, raises: 'AttributeError' },
  {
    name: 'js.globalThis and constructors',
    code: () => 'import js; print(js.globalThis); js.constructor.constructor("return process")()',
    raises: 'AttributeError',
  },
  {
    name: 'pyodide.code.run_js',
    code: (t) => py`
from pyodide.code import run_js
run_js("process.getBuiltinModule('fs').writeFileSync('${t.folder}/i', 'x')")`,
    raises: 'ImportError',
  },
  {
    name: 'Function constructor of a JavaScript function',
    code: (t) => py`
import pyodide_js
make = pyodide_js.runPython.constructor
make("globalThis.process.kill(${t.victimPid}, 9)")()`,
    raises: 'JsException',
  },
  {
    name: 'AsyncFunction constructor with import()',
    code: (t) => py`
import pyodide_js
make = pyodide_js.loadPackage.constructor
await make("(await import('node:fs')).writeFileSync('${t.folder}/j', 'x')")()`,
    raises: 'JsException',
  },
  {
    name: 'constructor of an error',
    code: () => `
import pyodide_js
try: pyodide_js.FS.open(1, 2, 3)
except Exception as e:
    error = getattr(e, "js_error", e)
    print(error.constructor.constructor("return process.env")())`,
    raises: 'JsException',
  },
  {
    name: 'every member of _module',
    code: (t) => py`
import pyodide_js
for name in dir(pyodide_js._module):
    value = getattr(pyodide_js._module, name, None)
    for key in ("process", "require", "kill", "spawnSync", "execSync"):
        found = getattr(value, key, None)
        if found is not None:
            print("found", name, key)
            try: found(${t.victimPid}, 9)
            except Exception: pass`,
    raises: null,
  },
  {
    name: 'the js module restored by hand',
    code: () => `
import pyodide_js
pyodide_js.registerJsModule("again", pyodide_js._module)
import again
print(again.ENV, again.thisProgram)`,
    raises: null,
  },
  {
    name: 'loadPackage from the network',
    code: () => 'import pyodide_js; await pyodide_js.loadPackage("micropip"); import micropip',
    raises: 'ModuleNotFoundError',
  },
  {
    name: 'dynamic library from bytes',
    code: () => `
open("/tmp/x.so", "wb").write(b"\\0asm\\1\\0\\0\\0" + b"\\0" * 100)
import ctypes
ctypes.CDLL("/tmp/x.so")`,
    raises: 'OSError',
  },
  {
    name: 'default streams of the process',
    code: () => `
import pyodide_js
pyodide_js.setStdout(); pyodide_js.setStderr()
print("to the process")
pyodide_js.setStdin()
print(input())`,
    ends: 'timeout',
  },
  // This comes last because it leaves other errors behind.
  {
    name: 'prepareStackTrace',
    code: () => `
import pyodide_js
from pyodide.ffi import create_proxy
Error = pyodide_js._module.constructor.constructor.prototype
def spy(error, frames):
    for frame in frames:
        print(frame.getThis(), frame.getFunction())
pyodide_js.FS.ErrnoError.constructor.prepareStackTrace = create_proxy(spy)
pyodide_js.FS.open("/none", "r")`,
    raises: 'JsException',
  },
];

/** Access to the network. */
export const NETWORK_SCRIPTS: readonly HostileScript[] = [
  {
    name: 'socket.create_connection',
    code: (t) => py`import socket; socket.create_connection(("127.0.0.1", ${t.port}), 2)`,
    raises: 'OSError',
  },
  {
    name: 'UDP',
    code: (t) => py`
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", ${t.port}))`,
    raises: 'OSError',
  },
  {
    name: 'urllib',
    code: (t) => py`import urllib.request; urllib.request.urlopen("http://127.0.0.1:${t.port}/")`,
    raises: 'URLError',
  },
  {
    name: 'http.client to a name',
    code: (t) => py`
import http.client
http.client.HTTPConnection("localhost", ${t.port}, timeout=2).request("GET", "/")`,
    raises: 'OSError',
  },
  {
    name: 'pyodide.http.pyfetch',
    code: (t) => py`
from pyodide.http import pyfetch
await pyfetch("http://127.0.0.1:${t.port}/")`,
    raises: 'NameError',
  },
  {
    name: "Pyodide's own sockets for Node",
    code: (t) => py`
import pyodide_js
await pyodide_js._api.initializeNodeSockFS()
import socket
socket.create_connection(("127.0.0.1", ${t.port}), 2).send(b"x")`,
    raises: 'AttributeError',
  },
  {
    name: 'a listening socket',
    code: () => 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); s.accept()',
  },
  {
    name: 'asyncio.open_connection',
    code: (t) => py`import asyncio; await asyncio.open_connection("127.0.0.1", ${t.port})`,
    raises: 'NotImplementedError',
  },
];

/** Scripts that never end or exhaust resources. Each is stopped for the named reason. */
export const GREEDY_SCRIPTS: readonly HostileScript[] = [
  {
    name: 'endless loop that catches everything',
    code: () => `
while True:
    try:
        while True: pass
    except BaseException: pass`,
    ends: 'timeout',
  },
  { name: 'endless sleep', code: () => 'import time; time.sleep(1e6)', ends: 'timeout' },
  { name: 'endless await', code: () => 'import asyncio; await asyncio.Event().wait()', ends: 'timeout' },
  { name: 'endless big-number arithmetic in C', code: () => 'x = 3 ** (10 ** 8)', ends: 'timeout' },
  {
    name: 'endless repr of the result',
    code: () => `
class Slow:
    def __repr__(self):
        while True: pass
Slow()`,
    ends: 'timeout',
  },
  { name: 'output flood', code: () => 'while True: print("x" * 10_000)', ends: 'timeout' },
  {
    name: 'newline flood to both streams',
    code: () => 'import sys\nwhile True: print(); print(file=sys.stderr)',
    ends: 'timeout',
  },
  { name: 'one huge allocation', code: () => 'x = bytearray(1_500_000_000)', ends: 'memory_limit' },
  { name: 'many allocations', code: () => 'x = []\nwhile True: x.append(bytearray(1_000_000))', ends: 'memory_limit' },
  {
    name: 'endless files in memory',
    code: () => `
block = b"x" * 1_000_000
n = 0
while True:
    n += 1
    open(f"/tmp/{n}", "wb").write(block)`,
    ends: 'memory_limit',
  },
  {
    name: 'memory in JavaScript',
    code: () => `
from pyodide.ffi import to_js
block = bytes(10_000_000)
kept = []
while True: kept.append(to_js(block))`,
    ends: 'memory_limit',
  },
  { name: 'unlimited recursion', code: () => 'import sys; sys.setrecursionlimit(10**9)\ndef f(): return f()\nf()' },
  { name: 'nested parentheses', code: () => '"(" * 100_000; eval("(" * 100_000)' },
  { name: 'huge result', code: () => '"r" * 100_000_000' },
  { name: 'huge error', code: () => 'raise ValueError("e" * 50_000_000)', ends: 'python_error' },
];

/** Attempts to forge a result or to break the report of it. */
export const FORGING_SCRIPTS: readonly HostileScript[] = [
  {
    name: 'protocol lines on standard output',
    code: () => `
print('{"type":"end","outcome":"{\\\\"result\\\\":\\\\"forged\\\\"}"}', flush=True)
print("ready", flush=True)
raise ValueError("the truth")`,
    ends: 'python_error',
  },
  {
    name: 'the driver with another report',
    code: () => `
import sys, json
json.dumps = lambda *a, **k: "not json"
for module in list(sys.modules.values()):
    if hasattr(module, "run"): module.run = None
frame = sys._getframe()
while frame:
    if "report" in frame.f_locals: frame.f_locals["report"]["result"] = {"a": 1}
    frame = frame.f_back`,
  },
  { name: 'os._exit', code: () => 'import os; os._exit(0)' },
  { name: 'abort', code: () => 'import os; os.abort()', ends: 'crashed' },
  { name: 'lone surrogates and control characters', code: () => 'print("\\ud800\\x00\\x1b[2J\\u2028"); "\\udfff"' },
  {
    name: 'standard output replaced',
    code: () => 'import sys; sys.stdout = None; sys.stderr = 3; del sys.modules["json"]; 5',
  },
];
