/** A chart of the depths of two lakes, with parts replaced. */
export function chart(change: object = {}): Record<string, unknown> {
  return {
    title: 'Depth of two lakes',
    mark: 'bar',
    encoding: {
      x: { field: 'lake', type: 'nominal', title: 'Lake' },
      y: { field: 'depth', type: 'quantitative', title: 'Depth in metres' },
    },
    data: {
      values: [
        { lake: 'Baikal', depth: 1642 },
        { lake: 'Tanganyika', depth: 1470 },
      ],
    },
    ...change,
  };
}

/** A chart as the code block that a model writes. */
export function fenced(spec: unknown): string {
  return `\`\`\`vega-lite\n${typeof spec === 'string' ? spec : JSON.stringify(spec)}\n\`\`\`\n`;
}
