import { html } from '../lib/preact.js';
import { Button } from './controls.js';

/** MCP servers of this request; the gateway refuses them for keys that may not bring any. */
export function McpServers({ servers, onChange }) {
  const edit = (at, name) => (event) =>
    onChange(
      servers.map((server, index) => (index === at ? { ...server, [name]: event.currentTarget.value } : server)),
    );
  return html`<fieldset class="servers">
    <legend>MCP servers</legend>
    ${servers.map(
      ({ name, url, token }, at) => html`<div class="server" key=${at}>
        <label class="field">Name <input value=${name} onInput=${edit(at, 'name')} /></label>
        <label class="field">Address <input type="url" placeholder="https://…/mcp" value=${url} onInput=${edit(at, 'url')} /></label>
        <label class="field">Token <input type="password" autocomplete="off" placeholder="if required" value=${token} onInput=${edit(at, 'token')} /></label>
        <${Button} kind="bare" icon="cross" aria-label="Remove this server" onClick=${() => onChange(servers.filter((_, index) => index !== at))} />
      </div>`,
    )}
    <${Button} kind="link" icon="plug" onClick=${() => onChange([...servers, { name: '', url: '', token: '' }])}>Add an MCP server<//>
  </fieldset>`;
}
