export default { left: "Panels at the left", right: "Panels at the right" } as const;
